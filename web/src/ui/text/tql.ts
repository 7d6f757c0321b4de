// Composes queries from the text of the query box: conditions, slices, Python text.

import { depths, keyword, nameOf, tokens, type Token } from "./lex";

export interface Query {
  /** The text for the server. */
  text: string;
  /** Characters before the text of the user. */
  shift: number;
}

const tails: ReadonlySet<string> = new Set(["WHERE", "EXPAND", "GROUP", "HAVING", "UNGROUP",
  "ORDER", "ARRANGE", "LIMIT", "OFFSET", "SAMPLE"]);

/** Completes a bare condition or clause to a query; null: there is no text. */
export function asQuery(text: string): Query | null {
  const list = tokens(text);
  if (list.length === 0) return null;
  const first = keyword(list.find((token) => token.text !== "("));
  if (first === "SELECT" || first === "WITH") return { text, shift: 0 };
  const prefix = tails.has(keyword(list[0])) ? "SELECT * " : "SELECT * WHERE ";
  return { text: prefix + text, shift: prefix.length };
}

/** A SELECT * of the dataset, with at most one more column, and with nothing but WHERE, ORDER BY
 * and ARRANGE BY. */
interface Simple {
  /** "SELECT *", or "SELECT *, expression AS name" as written. */
  head: string;
  where: Token[];
  /** ORDER BY and ARRANGE BY, as written. */
  order: string;
}

const merged: ReadonlySet<string> = new Set(["WHERE", "ORDER", "ARRANGE"]);
const others: ReadonlySet<string> = new Set(["FROM", "UNION", "INTERSECT", "EXCEPT", "EXPAND",
  "GROUP", "HAVING", "UNGROUP", "LIMIT", "OFFSET", "SAMPLE", ","]);

function simple(text: string): Simple | null {
  const list = tokens(text);
  if (keyword(list[0]) !== "SELECT" || list[1]?.text !== "*") return null;
  const deep = depths(list);
  const begin = columnOf(list, deep)?.end ?? 2;
  if (list.length > begin && !merged.has(keyword(list[begin]))) return null;
  let orderAt = list.length;
  for (let i = begin; i < list.length; i++) {
    if (deep[i] > 0) continue;
    const word = keyword(list[i]) || list[i].text;
    if (others.has(word)) return null;
    if (word === "WHERE" && i > begin) return null;
    if ((word === "ORDER" || word === "ARRANGE") && i < orderAt) orderAt = i;
  }
  const where = keyword(list[begin]) === "WHERE" ? list.slice(begin + 1, orderAt) : [];
  const head = begin === 2 ? selectAll : textOf(text, list.slice(0, begin));
  return { head, where, order: textOf(text, list.slice(orderAt)) };
}

const selectAll = "SELECT *";

/** The one column of SELECT *, expression AS name, and the token after it; null: there is none. */
function columnOf(list: readonly Token[], deep: readonly number[]): { name: string; end: number } | null {
  if (keyword(list[0]) !== "SELECT" || list[1]?.text !== "*" || list[2]?.text !== ",") return null;
  const at = list.findIndex((token, i) => i > 2 && deep[i] === 0 && (keyword(token) === "AS" || token.text === ","));
  const name = nameOf(list[at + 1]);
  if (keyword(list[at]) !== "AS" || name === undefined || list[at + 2]?.text === ",") return null;
  return { name, end: at + 2 };
}

function textOf(text: string, list: readonly Token[]): string {
  return list.length ? text.slice(list[0].begin, list[list.length - 1].end) : "";
}

/**
 * Returns the parts of a condition between its outer ANDs; a condition with an outer OR is one
 * part.
 */
function conjuncts(list: readonly Token[]): Token[][] {
  const deep = depths(list);
  const parts: Token[][] = [[]];
  let between = false;
  for (let i = 0; i < list.length; i++) {
    const word = deep[i] === 0 ? keyword(list[i]) : "";
    if (word === "OR") return [[...list]];
    if (word === "BETWEEN") between = true;
    if (word === "AND" && !between) {
      parts.push([]);
      continue;
    }
    if (word === "AND") between = false;
    parts[parts.length - 1].push(list[i]);
  }
  return parts.filter((part) => part.length > 0);
}

function hasOr(list: readonly Token[]): boolean {
  const deep = depths(list);
  return list.some((token, i) => deep[i] === 0 && keyword(token) === "OR");
}

function normal(part: readonly Token[]): string {
  let list = part;
  while (enclosed(list)) list = list.slice(1, -1);
  return list.map((token) => token.text).join(" ");
}

function enclosed(list: readonly Token[]): boolean {
  if (list[0]?.text !== "(" || list[list.length - 1]?.text !== ")") return false;
  const deep = depths(list);
  return deep.every((depth, i) => i === 0 || i === list.length - 1 || depth > 0);
}

/** Puts a condition in parentheses if it would bind wrongly to a neighbouring AND. */
function guarded(text: string): string {
  return hasOr(tokens(text)) ? `(${text})` : text;
}

/** Reports whether the condition is one of those that must hold in the query. */
export function hasCondition(text: string, condition: string): boolean {
  const query = asQuery(text);
  const parts = query && simple(query.text);
  if (!parts) return false;
  const present = new Set(conjuncts(parts.where).map(normal));
  return conjuncts(tokens(condition)).every((part) => present.has(normal(part)));
}

/** Adds a condition to a query with AND, or takes it away where it stands already. */
export function toggleCondition(text: string, condition: string): string {
  const query = asQuery(text);
  if (!query) return condition;
  const parts = simple(query.text);
  if (!parts) return `SELECT * FROM (${textOf(query.text, tokens(query.text))}) WHERE ${condition}`;
  const where = hasCondition(text, condition)
    ? without(query.text, parts.where, condition)
    : joined(textOf(query.text, parts.where), condition);
  const bare = query.shift > 0;
  if (bare && where !== "") return [where, parts.order].filter(Boolean).join(" ");
  if (bare) return parts.order;
  if (parts.head === selectAll && where === "" && parts.order === "") return "";
  return [parts.head, where && `WHERE ${where}`, parts.order].filter(Boolean).join(" ");
}

/**
 * Returns the query with its rows in the order of an expression, in place of the order that it has.
 */
export function orderBy(text: string, expression: string): string {
  const query = asQuery(text);
  const order = `ORDER BY ${expression}`;
  if (!query) return order;
  const parts = simple(query.text);
  if (!parts) return `SELECT * FROM (${textOf(query.text, tokens(query.text))}) ${order}`;
  const where = textOf(query.text, parts.where);
  if (query.shift > 0) return where === "" ? order : `${where} ${order}`;
  return [parts.head, where && `WHERE ${where}`, order].filter(Boolean).join(" ");
}

/** Returns the query with one more column, and its rows in the order of that column. */
export function orderByColumn(text: string, expression: string, name: string): string {
  const there = text.includes(`${expression} AS ${name}`) && new RegExp(`\\bORDER BY ${name}\\s*$`).test(text);
  return there ? text : orderBy(withColumn(text, expression, name), name);
}

/** Returns the query with one more column, in place of an earlier one of that name. */
export function withColumn(text: string, expression: string, name: string): string {
  const query = asQuery(text);
  const head = `SELECT *, ${expression} AS ${name}`;
  if (!query) return head;
  const base = withoutColumn(query.text, name);
  const parts = simple(base);
  if (parts?.head !== selectAll) return `${head} FROM (${textOf(base, tokens(base))})`;
  const where = textOf(base, parts.where);
  return [head, where && `WHERE ${where}`, parts.order].filter(Boolean).join(" ");
}

/** Takes the column away from SELECT *, expression AS name. */
function withoutColumn(text: string, name: string): string {
  const list = tokens(text);
  const column = columnOf(list, depths(list));
  if (column?.name !== name) return text;
  return `SELECT * ${textOf(text, list.slice(column.end))}`;
}

function joined(where: string, condition: string): string {
  return where === "" ? condition : `${guarded(where)} AND ${guarded(condition)}`;
}

function without(text: string, where: readonly Token[], condition: string): string {
  const gone = new Set(conjuncts(tokens(condition)).map(normal));
  return conjuncts(where).filter((part) => !gone.has(normal(part)))
    .map((part) => textOf(text, part)).join(" AND ");
}

/**
 * Returns the query for rows begin to end of the result of `text`; null: TQL has none for that
 * step.
 */
export function sliceQuery(text: string, begin: number, end: number, step: number): string | null {
  const count = Math.max(0, end - begin);
  if (step === 1) {
    const tail = `LIMIT ${count} OFFSET ${begin}`;
    const query = asQuery(text);
    if (!query) return `SELECT * ${tail}`;
    if (simple(query.text)) return `${textOf(query.text, tokens(query.text))} ${tail}`;
    return `SELECT * FROM (${textOf(query.text, tokens(query.text))}) ${tail}`;
  }
  // ROW_NUMBER counts the rows of the dataset, not those of a result.
  if (asQuery(text)) return null;
  return `SELECT * WHERE ROW_NUMBER() >= ${begin} AND ROW_NUMBER() < ${end}` +
    ` AND (ROW_NUMBER() - ${begin}) % ${step} = 0`;
}

const escapes: Readonly<Record<string, string>> = {
  "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t",
};

/**
 * Formats a Python literal. Control and direction characters are escaped, so that it reads as it
 * runs.
 */
export function pythonString(text: string): string {
  const body = text.replace(/[\\"]|\p{C}|[\u2028\u2029]/gu, (c) => {
    if (escapes[c]) return escapes[c];
    const code = c.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x100) return `\\x${hex.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
  return `"${body}"`;
}

/** Returns a name of a tensor in the form that a query needs. */
export function quoteName(name: string, keywords: ReadonlySet<string>): string {
  const plain = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !keywords.has(name.toUpperCase());
  return plain ? name : `"${name.replaceAll('"', '""')}"`;
}

export function quoteString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const shownBefore = 60;
const shownAfter = 40;

/**
 * Returns the line of a text around a position in characters, and the column of the position in it.
 */
export function faultLine(text: string, position: number): { line: string; column: number } {
  const before = [...text].slice(0, Math.max(0, position)).join("");
  const begin = before.lastIndexOf("\n") + 1;
  const next = text.indexOf("\n", before.length);
  const chars = [...text.slice(begin, next < 0 ? undefined : next).replace(/\p{Cc}/gu, " ")];
  const column = [...before.slice(begin)].length;
  const cut = Math.max(0, column - shownBefore);
  return { line: chars.slice(cut, column + shownAfter).join(""), column: column - cut };
}

