import { parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';

/** A configuration file, read: JSON with `//` and block comments and trailing commas. */
export interface ConfigFile {
  /** Always an object at the top. */
  content: Record<string, unknown>;
  /** Line of each key, by its dotted path. */
  lines: ReadonlyMap<string, number>;
}

/** Thrown for text that is not JSON. The message never quotes the text, which may hold secrets. */
export class ConfigFileError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.name = 'ConfigFileError';
    this.line = line;
  }
}

const invalidValue = 'this text or number is not valid JSON';
/** By the names that the parser gives to errors. */
const messages: Readonly<Record<string, string>> = {
  PropertyNameExpected: 'a key in double quotes is missing here',
  ValueExpected: 'a value is missing here',
  ColonExpected: 'a colon is missing after a key',
  CommaExpected: 'a comma or closing bracket is missing',
  CloseBraceExpected: 'a comma or closing brace is missing before this line ends',
  CloseBracketExpected: 'a comma or closing bracket is missing',
  EndOfFileExpected: 'more text follows after the closing brace',
  InvalidNumberFormat: invalidValue,
  InvalidUnicode: invalidValue,
  InvalidEscapeCharacter: invalidValue,
  InvalidCharacter: invalidValue,
};

/** Throws `ConfigFileError`. */
export function parseConfigFile(text: string): ConfigFile {
  const json = text.replace(/^\uFEFF/, '');
  const errors: ParseError[] = [];
  const root = parseTree(json, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first) throw new ConfigFileError(lineAt(json, first.offset), messageOf(first, json));
  if (root?.type !== 'object') {
    throw new ConfigFileError(lineAt(json, root?.offset ?? 0), 'the file must hold one object, in braces');
  }
  const lines = new Map<string, number>();
  const content = valueOf(root, [], (path, node) => lines.set(path.join('.'), lineAt(json, node.offset)));
  return { content: content as Record<string, unknown>, lines };
}

function messageOf({ error, offset }: ParseError, json: string): string {
  const name = printParseErrorCode(error);
  if (name === 'ValueExpected' && offset >= json.trimEnd().length) return 'the file ends too early';
  return messages[name] ?? 'this is not JSON: a quote, comma or bracket may be missing';
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The parser's own conversion assigns to `__proto__`. */
function valueOf(node: Node, path: readonly string[], seen: (path: readonly string[], key: Node) => void): unknown {
  const children = node.children ?? [];
  if (node.type === 'array') return children.map((child) => valueOf(child, path, seen));
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(
    children.map(({ children: property }) => {
      const [key, value] = property as [Node, Node];
      const below = [...path, String(key.value)];
      seen(below, key);
      return [String(key.value), valueOf(value, below, seen)];
    }),
  );
}
