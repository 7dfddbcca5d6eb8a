const maxSegments = 6;

/**
 * The path as messages may show it: words and versions stay, everything else (ids, names, tokens) is
 * a star. Queries are never shown.
 */
export function pathPattern(path: string): string {
  const segments = path.split('/').slice(1);
  const shown = segments.slice(0, maxSegments).map((segment) => (isWord(segment) ? segment : '*'));
  return `/${shown.join('/')}${segments.length > maxSegments ? '/…' : ''}`;
}

/** `GET api.example.com/v1/pages/*`. */
export function describeTarget(method: string, url: URL): string {
  return `${method} ${url.host}${pathPattern(url.pathname)}`;
}

function isWord(segment: string): boolean {
  return (
    segment.length <= 24 && /^([a-z]+([-_.][a-z]+)?|[a-z]+([A-Z][a-z]+){1,3}|v\d{1,2}(\.\d{1,2})?)?$/.test(segment)
  );
}
