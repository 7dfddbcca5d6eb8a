/** Addresses of what was uploaded to Notion; they open for an hour. https://developers.notion.com/reference/file-object */
const address = /https:\/\/[^\s"'<>()[\]\\]+/g;
const signatures = ['x-amz-signature', 'x-amz-security-token', 'signature', 'sig', 'exp', 'expirationtimestamp'];
const hosts = /(^|\.)(amazonaws\.com|notion\.so|notion\.com|notionusercontent\.com|notion-static\.com)$/;

/** Whether an address opens only for a while, for whoever has it. */
function isSigned(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { searchParams, hostname } = new URL(url);
  const names = [...searchParams.keys()].map((name) => name.toLowerCase());
  if (names.includes('x-amz-signature')) return true;
  return hosts.test(hostname) && names.some((name) => signatures.includes(name));
}

/** An address without what opens it. */
function unsigned(url: string): string {
  const parsed = new URL(url);
  return `${parsed.origin}${parsed.pathname}`;
}

/** Every signed address of a text, in the order in which they come, each once. */
export function signedIn(text: string): string[] {
  const found = [...text.matchAll(address)].map(([url]) => url.replaceAll('&amp;', '&'));
  return [...new Set(found.filter(isSigned))];
}

/** The text with no address that opens anything: these are new at each reading, and are secrets for as long as they last. */
export function withoutSignatures(text: string): string {
  return text.replaceAll(address, (url) => (isSigned(url.replaceAll('&amp;', '&')) ? unsigned(url) : url));
}
