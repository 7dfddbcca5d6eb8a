/** Where the page is: `#/sources/ID?state=failed` is `{ path: ['sources', 'ID'], query: state=failed }`. */
export interface Route {
  path: string[];
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address within the page of some parts and a query; what is empty is left out of the query. */
export function hrefOf(path: readonly string[], query: Readonly<Record<string, string>> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== '');
  const text = new URLSearchParams(entries).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`;
}
