import { badConfig, type JsonObject } from '../connector/contract.ts';

/** Puts values into an address: `{name}` encoded as a part of a path, `{+name}` as it is (RFC 6570). */
export function fillAddress(template: string, values: JsonObject): string {
  const filled = template.replaceAll(/\{(\+?)(\w+)\}/g, (_, plain: string, name: string) => {
    const value = values[name];
    if (typeof value !== 'string' && typeof value !== 'number') throw badConfig(`The setting ${name} is missing.`);
    return plain ? String(value).replace(/\/+$/, '') : encodeURIComponent(value);
  });
  if (!/^https?:\/\/[^/]/.test(filled) || !URL.canParse(filled)) {
    throw badConfig('The address of the authorization server is not an absolute http(s) address.');
  }
  return filled;
}
