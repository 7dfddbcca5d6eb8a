import type { SourceFormat } from './extracted.ts';

/** A format by itself, or `code` with its language. */
export interface NamedFormat {
  format: SourceFormat;
  language?: string;
  delimiter?: string;
}

/** How files are read, by the ends of their names. */
export const extensionsOf = {
  text: 'txt text rst org adoc asciidoc tex latex bib srt vtt ics vcf pod textile',
  markdown: 'md markdown mdown mkd mdx qmd rmd',
  csv: 'csv psv tsv tab',
  json: 'json geojson webmanifest har',
  'json-lines': 'jsonl ndjson',
  notebook: 'ipynb',
  html: 'html htm xhtml',
  xml: 'xml xsd xsl xslt wsdl plist kml gpx opml',
  feed: 'rss atom',
  svg: 'svg',
  email: 'eml',
  pdf: 'pdf',
  docx: 'docx docm dotx',
  xlsx: 'xlsx xlsm xltx',
  pptx: 'pptx pptm ppsx potx',
  opendocument: 'odt ods odp ott ots otp',
  epub: 'epub',
  gzip: 'gz',
  zip: 'zip',
  outlook: 'msg',
  'rich-text': 'rtf',
  manual: 'man mdoc',
} satisfies Record<Exclude<SourceFormat, 'code' | 'conversation'>, string>;
const extensions = invert(extensionsOf);

/** Languages of source code and configuration, by the ends of file names. */
export const extensionsOfLanguages = {
  assembly: 'asm s',
  astro: 'astro',
  awk: 'awk',
  batch: 'bat cmd',
  c: 'c h',
  clojure: 'clj cljs edn',
  cmake: 'cmake',
  cpp: 'cc cpp cxx hh hpp hxx ino',
  csharp: 'cs csx',
  css: 'css',
  d: 'd',
  dart: 'dart',
  diff: 'diff patch',
  dockerfile: 'dockerfile',
  ejs: 'ejs',
  elixir: 'ex exs',
  elm: 'elm',
  erb: 'erb',
  erlang: 'erl hrl',
  fortran: 'f90 for',
  fsharp: 'fs fsx',
  go: 'go',
  graphql: 'graphql gql',
  groovy: 'groovy gradle',
  handlebars: 'hbs',
  haskell: 'hs',
  hcl: 'tf tfvars hcl',
  ini: 'ini cfg conf env editorconfig',
  java: 'java',
  javascript: 'js mjs cjs',
  jinja: 'jinja j2',
  json5: 'json5 jsonc',
  jsx: 'jsx',
  julia: 'jl',
  kotlin: 'kt kts',
  less: 'less',
  liquid: 'liquid',
  lisp: 'lisp el',
  lock: 'lock',
  log: 'log',
  lua: 'lua',
  make: 'mk',
  nim: 'nim',
  nix: 'nix',
  'objective-c': 'm mm',
  ocaml: 'ml mli',
  pascal: 'pas',
  perl: 'pl pm',
  php: 'php',
  powershell: 'ps1 psm1',
  properties: 'properties',
  protobuf: 'proto',
  pug: 'pug',
  python: 'py pyi pyw',
  r: 'r',
  racket: 'rkt',
  ruby: 'rb rake gemspec',
  rust: 'rs',
  sass: 'sass',
  scala: 'scala',
  scheme: 'scm',
  scss: 'scss',
  shell: 'sh bash zsh fish',
  solidity: 'sol',
  sql: 'sql',
  svelte: 'svelte',
  swift: 'swift',
  toml: 'toml',
  tsx: 'tsx',
  typescript: 'ts mts cts',
  v: 'v',
  vb: 'vb',
  vim: 'vim',
  vue: 'vue',
  yaml: 'yaml yml',
  zig: 'zig',
};
const languages = invert(extensionsOfLanguages);

const fileNames = invert({
  cmake: 'cmakelists.txt',
  dockerfile: 'dockerfile containerfile',
  go: 'go.mod go.sum',
  groovy: 'jenkinsfile',
  ini: 'procfile .gitignore .gitattributes .npmrc .dockerignore',
  make: 'makefile gnumakefile justfile',
  ruby: 'rakefile gemfile vagrantfile',
  shell: '.bashrc .profile .zshrc',
});

const mimeTypes = invert({
  markdown: 'text/markdown text/x-markdown',
  csv: 'text/csv application/csv text/tab-separated-values',
  json: 'application/json text/json',
  'json-lines': 'application/x-ndjson application/jsonl',
  html: 'text/html application/xhtml+xml',
  xml: 'application/xml text/xml',
  feed: 'application/rss+xml application/atom+xml',
  svg: 'image/svg+xml',
  email: 'message/rfc822',
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  opendocument:
    'application/vnd.oasis.opendocument.text application/vnd.oasis.opendocument.spreadsheet ' +
    'application/vnd.oasis.opendocument.presentation',
  epub: 'application/epub+zip',
  gzip: 'application/gzip application/x-gzip',
  zip: 'application/zip application/x-zip-compressed',
  outlook: 'application/vnd.ms-outlook',
  'rich-text': 'application/rtf text/rtf',
} satisfies Partial<Record<SourceFormat, string>>);

const languageMimeTypes = invert({
  c: 'text/x-c',
  css: 'text/css',
  go: 'text/x-go',
  java: 'text/x-java',
  javascript: 'text/javascript application/javascript application/x-javascript',
  php: 'text/x-php',
  python: 'text/x-python application/x-python-code',
  ruby: 'text/x-ruby',
  rust: 'text/x-rust',
  shell: 'application/x-sh text/x-shellscript',
  sql: 'application/sql',
  toml: 'application/toml',
  typescript: 'application/typescript',
  yaml: 'application/yaml application/x-yaml text/yaml text/x-yaml',
});

const interpreters = invert({ javascript: 'node', typescript: 'deno bun', shell: 'sh bash zsh dash ksh' });

/** The format that a file name stands for; undefined when it says nothing. */
export function formatOfName(name: string | undefined): NamedFormat | undefined {
  const base = (name ?? '').replace(/^.*[/\\]/, '').toLowerCase();
  const special = fileNames.get(base);
  if (special !== undefined) return { format: 'code', language: special };
  const extension = /\.([a-z0-9]+)$/.exec(base)?.[1] ?? '';
  const format = extensions.get(extension);
  if (format !== undefined) return { format, ...(/^(?:tsv|tab)$/.test(extension) ? { delimiter: '\t' } : {}) };
  const language = languages.get(extension);
  return language === undefined ? undefined : { format: 'code', language };
}

/** The format that a MIME type (without parameters) stands for; undefined when it says nothing definite. */
export function formatOfMimeType(mimeType: string): NamedFormat | undefined {
  const format = mimeTypes.get(mimeType);
  if (format !== undefined)
    return { format, ...(mimeType.endsWith('tab-separated-values') ? { delimiter: '\t' } : {}) };
  const language = languageMimeTypes.get(mimeType);
  if (language !== undefined) return { format: 'code', language };
  if (mimeType.endsWith('+json')) return { format: 'json' };
  return mimeType.endsWith('+xml') ? { format: 'xml' } : undefined;
}

/** The language of a script by its first line: `#!/usr/bin/env python3` → python. */
export function languageOfScript(text: string): string | undefined {
  const command = /^#!\s*(?:\S*\/env\s+(?:-S\s+)?)?(?:\S*\/)?([a-z]+)/.exec(text.slice(0, 200))?.[1];
  return command === undefined ? undefined : (interpreters.get(command) ?? command);
}

/** From `{ value: 'key key' }` to a map from each key to its value. */
function invert<Value extends string>(table: Record<Value, string>): Map<string, Value> {
  const entries = Object.entries(table) as [Value, string][];
  return new Map(entries.flatMap(([value, keys]) => keys.split(' ').map((key) => [key, value] as const)));
}
