import { signal } from '@preact/signals';
import { hrefOf, parseRoute, type Route } from './address.ts';

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
