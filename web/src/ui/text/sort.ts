// The order of rows by one column: read from a query, and written into it.

import { depths, keyword, nameOf, tokens, type Token } from "./lex";
import { orderBy } from "./tql";

export type Order = "ascending" | "descending" | "none";

interface Tail {
  name: string;
  order: Exclude<Order, "none">;
  /** The query without ORDER BY. */
  before: string;
}

/** The ORDER BY at the end of a query, if it is by a column alone. */
function tailOf(text: string): Tail | null {
  const list = tokens(text);
  const deep = depths(list);
  const at = list.map((token, i) => deep[i] === 0 && keyword(token) === "ORDER").lastIndexOf(true);
  if (at < 0 || keyword(list[at + 1]) !== "BY") return null;
  const name = nameOf(list[at + 2]);
  const way = keyword(list[at + 3]);
  const length = way === "ASC" || way === "DESC" ? 4 : 3;
  if (name === undefined || list.length !== at + length) return null;
  const order = way === "DESC" ? "descending" : "ascending";
  return { name, order, before: text.slice(0, list[at].begin).trimEnd() };
}

/** Returns the order of the rows of a query by a column. */
export function orderOf(text: string, name: string): Order {
  const tail = tailOf(text);
  return tail?.name === name ? tail.order : "none";
}

/** Returns the query with the next order by a column: ascending, then descending, then none. */
export function nextOrder(text: string, name: string): string {
  const tail = tailOf(text);
  const by = `"${name.replaceAll('"', '""')}"`;
  if (!tail) return orderBy(text, by);
  if (tail.name !== name) return join(tail.before, by);
  return tail.order === "ascending" ? join(tail.before, `${by} DESC`) : unwrapped(tail.before);
}

function join(before: string, by: string): string {
  return `${before} ORDER BY ${by}`.trimStart();
}

/**
 * Returns the query in SELECT * FROM (query), which orderBy has put around it; else the text
 * itself.
 */
function unwrapped(text: string): string {
  const list = tokens(text);
  const deep = depths(list);
  const last = list.length - 1;
  const head = list.slice(0, 4).map((token: Token) => token.text.toUpperCase()).join(" ");
  const wraps = head === "SELECT * FROM (" && list[last].text === ")" &&
    deep.every((depth, i) => i < 4 || i === last || depth > 0);
  if (wraps) return text.slice(list[3].end, list[last].begin);
  return list.length === 2 && head === "SELECT *" ? "" : text;
}
