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

interface Token {
  text: string;
  line: number;
}

const tokenPattern =
  /(\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|("(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:])/y;

/** Throws `ConfigFileError`. */
export function parseConfigFile(text: string): ConfigFile {
  const reader = createReader(tokenize(text.replace(/^\uFEFF/, '')));
  const lines = new Map<string, number>();
  const first = reader.peek();
  const content = readValue(reader, [], lines);
  const rest = reader.peek();
  if (rest.text !== '') throw new ConfigFileError(rest.line, 'more text follows after the closing brace');
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new ConfigFileError(first.line, 'the file must hold one object, in braces');
  }
  return { content: content as Record<string, unknown>, lines };
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < text.length) {
    const match = tokenPattern.exec(text);
    if (!match) throw new ConfigFileError(line, 'this is not JSON: a quote, comma or bracket may be missing');
    if (match[2] !== undefined) tokens.push({ text: match[2], line });
    line += match[0].split('\n').length - 1;
  }
  tokens.push({ text: '', line });
  return tokens;
}

interface Reader {
  peek(): Token;
  next(): Token;
  /** Takes the next token when it is this one. */
  take(text: string): boolean;
}

function createReader(tokens: Token[]): Reader {
  let index = 0;
  const peek = () => tokens[index]!;
  const next = () => tokens[index < tokens.length - 1 ? index++ : index]!;
  return {
    peek,
    next,
    take(text) {
      if (peek().text !== text) return false;
      next();
      return true;
    },
  };
}

function readValue(reader: Reader, path: string[], lines: Map<string, number>): unknown {
  const token = reader.next();
  if (token.text === '{') return readObject(reader, path, lines);
  if (token.text === '[') return readArray(reader, path, lines);
  if (/^["\-\dtfn]/.test(token.text)) return readScalar(token);
  throw new ConfigFileError(token.line, token.text === '' ? 'the file ends too early' : 'a value is missing here');
}

function readScalar(token: Token): unknown {
  try {
    return JSON.parse(token.text);
  } catch {
    throw new ConfigFileError(token.line, 'this text or number is not valid JSON');
  }
}

function readObject(reader: Reader, path: string[], lines: Map<string, number>): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  while (!reader.take('}')) {
    const token = reader.next();
    if (!token.text.startsWith('"')) throw new ConfigFileError(token.line, 'a key in double quotes is missing here');
    const key = String(readScalar(token));
    if (!reader.take(':')) throw new ConfigFileError(reader.peek().line, 'a colon is missing after a key');
    lines.set([...path, key].join('.'), token.line);
    entries.push([key, readValue(reader, [...path, key], lines)]);
    if (!reader.take(',') && reader.peek().text !== '}') {
      throw new ConfigFileError(reader.peek().line, 'a comma or closing brace is missing before this line ends');
    }
  }
  return Object.fromEntries(entries);
}

function readArray(reader: Reader, path: string[], lines: Map<string, number>): unknown[] {
  const values: unknown[] = [];
  while (!reader.take(']')) {
    values.push(readValue(reader, path, lines));
    if (!reader.take(',') && reader.peek().text !== ']') {
      throw new ConfigFileError(reader.peek().line, 'a comma or closing bracket is missing');
    }
  }
  return values;
}
