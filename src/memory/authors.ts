import { normalized } from '../base/normalized.ts';

/** `Name <address>`, as mail writes it. */
const withAddress = /^"?(?<name>[^"<>]*)(?:"\s*)?<(?<address>[^<>\s]+)>$/;

/** An author's name in statements: the name, else the address. */
export function nameOf(author: string): string {
  const { name, address } = partsOf(author);
  return name === '' ? address : name;
}

/** By the address where both have one, else by the name. Nobody is the same person as somebody unnamed. */
export function isSamePerson(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return false;
  const [left, right] = [partsOf(one), partsOf(other)];
  if (left.address !== '' && right.address !== '') return same(left.address, right.address);
  return left.name !== '' && same(left.name, right.name);
}

function partsOf(author: string): { name: string; address: string } {
  const text = author.trim();
  const parts = withAddress.exec(text)?.groups;
  if (parts) return { name: parts['name']!.trim(), address: parts['address']! };
  const isAddress = text.slice(1, -1).includes('@') && !/\s/.test(text);
  return isAddress ? { name: '', address: text } : { name: text, address: '' };
}

function same(left: string, right: string): boolean {
  const plain = (text: string) => normalized(text, 'NFKC').toLowerCase().replace(/\s+/g, ' ');
  return plain(left) === plain(right);
}
