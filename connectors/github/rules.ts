/** Folders of code that others wrote or a machine made. */
const clutteredFolders = /(^|\/)(node_modules|bower_components|vendor|third_party|__pycache__|\.yarn|\.venv)\//;
const clutter =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|Cargo\.lock|poetry\.lock|uv\.lock|composer\.lock|Gemfile\.lock|go\.sum)$|\.min\.(js|css)$|\.(js|css)\.map$/;

export const isClutter = (path: string) => clutteredFolders.test(path) || clutter.test(path);

const prose = /\.(md|mdx|markdown|txt|rst|adoc|org)$/i;
/** Binary, yet text can be taken from them. */
const documents = /\.(pdf|docx|xlsx|pptx|odt|ods|odp|epub|rtf|eml)$/i;

export const isProse = (path: string) => prose.test(path);
export const isDocument = (path: string) => documents.test(path);
