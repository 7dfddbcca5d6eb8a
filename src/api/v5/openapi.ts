/** The parts of a description that are looked at. */
interface Description {
  info: { title: string; version: string; description?: string };
  tags?: { name: string }[];
  paths: Record<string, object>;
}

/** The version that the published interface states. */
const version = '5.0.0';

const description = `Memory by namespaces. The scope of a request stands in its path, bodies are closed, and
lists, filters and forgetting have one form each. The same documents and memories are served under the container
tag of the namespace's name by the operations below \`/v3\` and \`/v4\`.`;

const prefixes = ['/ns', '/namespaces', '/connectors', '/organization'];

function isOfNamespaces(path: string): boolean {
  return prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
}

/** The operations of the second dialect alone, as a description of their own. */
export function ofNamespaces(whole: object): object {
  const { info, tags = [], paths, ...rest } = whole as Description;
  const kept = Object.entries(paths).filter(([path]) => isOfNamespaces(path));
  const used = new Set(
    kept.flatMap(([, operations]) => Object.values(operations).flatMap(({ tags: named }) => named as string[])),
  );
  return {
    ...rest,
    info: { ...info, title: `${info.title}: namespaces`, version, description },
    tags: tags.filter(({ name }) => used.has(name)),
    paths: Object.fromEntries(kept),
  };
}
