// Splits query text into tokens, as far as the page must understand it. The server parses it.

export interface Token {
  kind: "word" | "name" | "string" | "number" | "sign";
  /** As written, with its quotes. */
  text: string;
  begin: number;
  end: number;
  /** A quoted token has its closing quote. */
  closed: boolean;
}

const space = /\s+/uy;
const comment = /--[^\n]*|\/\*[^]*?(?:\*\/|$)/uy;
const word = /[\p{L}_][\p{L}\p{N}_]*/uy;
const number = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/uy;
const sign = /==|!=|<>|<=|>=|\|\||\.\.\.|[^]/uy;

/** Skips white space and comments. */
export function tokens(text: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? "";
  };
  while (at < text.length) {
    const skipped = take(space) || take(comment);
    if (skipped) {
      at += skipped.length;
      continue;
    }
    const token = quoted(text, at) ?? plain(at, take(word), take(number), take(sign));
    found.push(token);
    at = token.end;
  }
  return found;
}

function plain(begin: number, word: string, number: string, sign: string): Token {
  const text = word || number || sign;
  const kind = word ? "word" : number ? "number" : "sign";
  return { kind, text, begin, end: begin + text.length, closed: true };
}

function quoted(text: string, begin: number): Token | undefined {
  const quote = text[begin];
  if (quote !== "'" && quote !== '"') return undefined;
  let end = begin + 1;
  let closed = false;
  while (end < text.length && !closed) {
    if (text[end] !== quote) end++;
    else if (text[end + 1] === quote) end += 2;
    else {
      closed = true;
      end++;
    }
  }
  return { kind: quote === "'" ? "string" : "name", text: text.slice(begin, end), begin, end, closed };
}

/** Returns the keyword of a word in upper case; "" for all else. */
export function keyword(token: Token | undefined): string {
  return token?.kind === "word" ? token.text.toUpperCase() : "";
}

/** Returns the name that a word or a text in double quotes stands for. */
export function nameOf(token: Token | undefined): string | undefined {
  if (token?.kind === "word") return token.text;
  if (token?.kind !== "name") return undefined;
  return token.text.slice(1, token.closed ? -1 : undefined).replaceAll('""', '"');
}

/**
 * Returns the depth of each token in brackets and CASE ... END. A bracket itself counts as outside.
 */
export function depths(list: readonly Token[]): number[] {
  let depth = 0;
  return list.map((token) => {
    const opens = token.text === "(" || token.text === "[" || keyword(token) === "CASE";
    const closes = token.text === ")" || token.text === "]" || keyword(token) === "END";
    if (closes) depth = Math.max(0, depth - 1);
    const here = depth;
    if (opens) depth++;
    return here;
  });
}
