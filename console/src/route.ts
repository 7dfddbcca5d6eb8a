import { signal } from '@preact/signals';

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

export const route = signal<Route>({ path: [], query: new URLSearchParams() });

export function followRoute(): void {
  const read = () => (route.value = parseRoute(location.hash));
  addEventListener('hashchange', read);
  read();
}

export function goTo(path: readonly string[], query?: Readonly<Record<string, string>>): void {
  location.hash = hrefOf(path, query);
}

/** The same, without a step in the browser's history: for filters that follow the typing. */
export function replaceRoute(path: readonly string[], query?: Readonly<Record<string, string>>): void {
  history.replaceState(null, '', hrefOf(path, query));
  route.value = parseRoute(location.hash);
}
