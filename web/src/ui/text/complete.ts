// Finds completions for the text before the caret of the query box.

import type { Tensor } from "../../data/protocol";
import { keyword, nameOf, tokens, type Token } from "./lex";
import { quoteName, quoteString } from "./tql";

export interface Words {
  keywords: string[];
  functions: string[];
}

export interface Option {
  label: string;
  insert: string;
  kind: "tensor" | "function" | "keyword" | "class";
  detail: string;
}

export interface Completion {
  /** The part of the text that an option takes the place of. */
  from: number;
  to: number;
  options: Option[];
}

const maxOptions = 50;

/** `asked`: the user wants options before the first letter of a word. */
export function complete(text: string, caret: number, tensors: readonly Tensor[], words: Words,
  asked = false): Completion | null {
  const before = tokens(text.slice(0, caret));
  const last = before[before.length - 1];
  if (last?.kind === "string" && !last.closed) return classes(text, caret, before, tensors);
  if (asked && last?.end !== caret) {
    const found = valuesOf(text, caret, caret, before, "", tensors);
    if (found) return found;
  }
  const atWord = last !== undefined && last.end === caret &&
    (last.kind === "word" || (last.kind === "name" && !last.closed));
  if (!atWord && (!asked || last?.end === caret && last.kind === "number")) return null;
  const typed = atWord ? nameOf(last) ?? "" : "";
  const quoted = atWord && last.kind === "name";
  const from = atWord ? last.begin : caret;
  const rest = quoted ? /^[^"\n]*"?/u : /^[\p{L}\p{N}_]*/u;
  const to = caret + (atWord ? rest.exec(text.slice(caret))?.[0].length ?? 0 : 0);
  const options = wordOptions(typed, quoted, tensors, words);
  const only = options.length === 1 && options[0].insert === text.slice(from, to);
  return options.length === 0 || only ? null : { from, to, options };
}

function wordOptions(typed: string, quoted: boolean, tensors: readonly Tensor[],
  words: Words): Option[] {
  const reserved = new Set(words.keywords.map((word) => word.toUpperCase()));
  const names = ranked(tensors, (tensor) => tensor.name, typed).map((tensor): Option => ({
    label: tensor.name, insert: quoteName(tensor.name, reserved), kind: "tensor",
    detail: tensor.htype,
  }));
  if (quoted) return names;
  const starts = (list: string[]): string[] =>
    list.filter((word) => word.toUpperCase().startsWith(typed.toUpperCase()));
  const functions = starts(words.functions).map((word): Option =>
    ({ label: word, insert: `${word}(`, kind: "function", detail: "function" }));
  const keywords = starts(words.keywords).map((word): Option =>
    ({ label: word, insert: word, kind: "keyword", detail: "keyword" }));
  return [...names, ...keywords, ...functions].slice(0, maxOptions);
}

function classes(text: string, caret: number, before: Token[],
  tensors: readonly Tensor[]): Completion | null {
  const open = before[before.length - 1];
  return valuesOf(text, open.begin, caret, before.slice(0, -1), open.text.slice(1).replaceAll("''", "'"), tensors);
}

/** Offers class names in the place of the text from `from` to the caret, which follows `before`. */
function valuesOf(text: string, from: number, caret: number, before: readonly Token[], typed: string,
  tensors: readonly Tensor[]): Completion | null {
  const name = comparedName(before);
  const tensor = name === undefined ? undefined : tensors.find((t) => t.name === name);
  if (!tensor || tensor.class_names.length === 0) return null;
  const found = ranked(tensor.class_names, (label) => label, typed);
  const after = text.slice(caret);
  const to = caret + (from < caret && after.startsWith("'") && !after.startsWith("''") ? 1 : 0);
  const options = found.map((label): Option =>
    ({ label, insert: quoteString(label), kind: "class", detail: tensor.name }));
  return options.length === 0 ? null : { from, to, options };
}

/**
 * Returns the name that the next value is compared with, by an operator or as a member of IN (...).
 */
function comparedName(before: readonly Token[]): string | undefined {
  let at = before.length - 1;
  if (["=", "==", "!=", "<>"].includes(before[at]?.text ?? "")) return nameOf(before[at - 1]);
  if (keyword(before[at]) === "LIKE" || keyword(before[at]) === "ILIKE") return nameOf(before[at - 1]);
  while (at >= 0 && (before[at].kind === "string" || before[at].text === ",")) at--;
  if (before[at]?.text !== "(" || keyword(before[at - 1]) !== "IN") return undefined;
  const not = keyword(before[at - 2]) === "NOT" ? 1 : 0;
  return nameOf(before[at - 2 - not]);
}

/** Returns words that begin with the typed text, then words that contain it; at most maxOptions. */
function ranked<T>(list: readonly T[], nameOfItem: (item: T) => string, typed: string): T[] {
  const wanted = typed.toLowerCase();
  const begins: T[] = [];
  const inside: T[] = [];
  for (const item of list) {
    const at = nameOfItem(item).toLowerCase().indexOf(wanted);
    if (at === 0) begins.push(item);
    else if (at > 0 && inside.length < maxOptions) inside.push(item);
    if (begins.length >= maxOptions) break;
  }
  return [...begins, ...inside].slice(0, maxOptions);
}

const longestExample = 40;

/** Returns an example of a condition on the tensors of the dataset, for the empty query box. */
export function exampleOf(tensors: readonly Tensor[], keywords: readonly string[]): string {
  const reserved = new Set(keywords.map((word) => word.toUpperCase()));
  const plain = tensors.filter((tensor) => !tensor.sequence);
  const label = plain.find((tensor) => tensor.draw === "label" && tensor.class_names.length > 0);
  const number = plain.find((tensor) => tensor.draw === "number" && tensor.dtype !== "bool");
  const examples = [
    label && `${quoteName(label.name, reserved)} = ${quoteString(label.class_names[0])}`,
    number && `${quoteName(number.name, reserved)} > 0`,
  ];
  return examples.find((example) => example !== undefined && example.length <= longestExample)
    ?? "A condition, or SELECT …";
}
