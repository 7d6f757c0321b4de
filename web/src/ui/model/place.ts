// The place in a dataset that the page shows, and its text in the fragment of the address.

import { formatHidden, parseHidden, type HiddenClasses } from "./hiding";

export type Mode = "" | "grid" | "single" | "table" | "map";

export interface Place {
  /** Branch, tag, commit or version; "": the version that the server was started for. */
  at: string;
  /** The name of a saved view; "": none. */
  saved: string;
  query: string;
  /** The first row in sight. */
  first: number;
  /** The selected row; -1: none. */
  row: number;
  /** Of a sequence in the single view. */
  item: number;
  /** Seconds of a video in the single view. */
  time: number;
  /** "": grid if there are pictures, else table. */
  mode: Mode;
  /** Side of a cell in CSS pixels. */
  cell: number;
  /** Names of the tensors that are not drawn. */
  hidden: string[];
  /** Classes that are not drawn, by the tensor that has them. */
  classes: HiddenClasses[];
  /** The tensor whose pictures cells show; "": the first one. */
  picture: string;
  /** The two overlays that are drawn side by side; none: all lie on one picture. */
  pair: string[];
  /** The tensor that colours shapes and cells; "": shapes have the colours of their classes. */
  color: string;
}

export const smallestCell = 32;
export const largestCell = 1024;
const maxHidden = 1000;

export const home: Readonly<Place> = Object.freeze({
  at: "", saved: "", query: "", first: 0, row: -1, item: 0, time: 0, mode: "", cell: 160, hidden: [],
  classes: [], picture: "", pair: [], color: "",
});

/** Formats the text after "#", without the parts that have their defaults. */
export function formatPlace(place: Place): string {
  const out = new URLSearchParams();
  if (place.at) out.set("at", place.at);
  if (place.saved) out.set("saved", place.saved);
  if (place.query) out.set("query", place.query);
  if (place.first > 0) out.set("first", String(place.first));
  if (place.row >= 0) out.set("row", String(place.row));
  if (place.item > 0) out.set("item", String(place.item));
  if (place.time > 0) out.set("t", String(place.time));
  if (place.mode) out.set("mode", place.mode);
  if (place.cell !== home.cell) out.set("cell", String(place.cell));
  for (const name of place.hidden.slice(0, maxHidden)) out.append("hide", name);
  for (const classes of place.classes) out.append("classes", formatHidden(classes));
  if (place.picture) out.set("picture", place.picture);
  for (const name of place.pair) out.append("pair", name);
  if (place.color) out.set("color", place.color);
  return out.toString();
}

/** Reads a fragment, with or without "#". Parts that make no sense get their defaults. */
export function parsePlace(fragment: string): Place {
  const from = new URLSearchParams(fragment.replace(/^#/, ""));
  return {
    at: from.get("at") ?? "",
    saved: from.get("saved") ?? "",
    query: from.get("query") ?? "",
    first: count(from.get("first"), home.first),
    row: count(from.get("row"), home.row),
    item: count(from.get("item"), home.item),
    time: seconds(from.get("t")),
    mode: mode(from.get("mode")),
    cell: clampCell(count(from.get("cell"), home.cell)),
    hidden: [...new Set(from.getAll("hide"))].slice(0, maxHidden),
    classes: parseHidden(from.getAll("classes")),
    picture: from.get("picture") ?? "",
    pair: from.getAll("pair").length === 2 ? from.getAll("pair") : [],
    color: from.get("color") ?? "",
  };
}

function count(text: string | null, otherwise: number): number {
  if (text === null || !/^\d{1,16}$/.test(text)) return otherwise;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : otherwise;
}

function seconds(text: string | null): number {
  return text !== null && /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : home.time;
}

function mode(text: string | null): Mode {
  return text === "grid" || text === "single" || text === "table" || text === "map" ? text : "";
}

/** Returns the mode in effect: a dataset without pictures is a table unless a mode is chosen. */
export function modeOf(mode: Mode, primary: string): Exclude<Mode, ""> {
  return mode === "" ? (primary === "" ? "table" : "grid") : mode;
}

export function clampCell(pixels: number): number {
  return Math.round(Math.min(largestCell, Math.max(smallestCell, pixels)));
}

/** Returns the one-time key of a link, and the fragment without it. */
export function takeKey(fragment: string): { key: string | null; rest: string } {
  const params = new URLSearchParams(fragment.replace(/^#/, ""));
  const key = params.get("key");
  params.delete("key");
  return { key, rest: params.toString() };
}

/** Returns the place in a view of so many rows: a row behind the end becomes the last one. */
export function within(place: Place, rows: number): Place {
  const last = rows - 1;
  if (place.row <= last && place.first <= Math.max(0, last)) return place;
  return { ...place, row: Math.min(place.row, last), first: Math.max(0, Math.min(place.first, last)) };
}

/** Reports whether a step back undoes the move: other rows, or another way to look at them. */
export function isStep(from: Place, to: Place): boolean {
  return from.at !== to.at || from.saved !== to.saved || from.query !== to.query ||
    from.mode !== to.mode;
}

/** Reports whether the move needs another view of the server. */
export function isElsewhere(from: Place, to: Place): boolean {
  return from.at !== to.at || from.saved !== to.saved || from.query !== to.query;
}

/** Returns the message for a row that a view does not have. */
export function rowsGo(rows: number): string {
  return rows === 0 ? "There are no rows." : `Rows go from 0 to ${(rows - 1).toLocaleString("en")}.`;
}

export type Target =
  | { kind: "row"; row: number }
  | { kind: "slice"; begin: number; end: number; step: number }
  | { kind: "fault"; message: string };

const slice = /^(-?\d{1,15})?\s*:\s*(-?\d{1,15})?(?:\s*:\s*(\d{1,15})?)?$/;

/** Reads a row or a slice in Python's notation, for a view of so many rows. */
export function parseTarget(text: string, rows: number): Target {
  const input = text.trim().replace(/^ds\[(.*)\]$/, "$1").replaceAll("_", "");
  if (rows === 0) return { kind: "fault", message: "There are no rows." };
  if (/^-?\d{1,15}$/.test(input)) {
    const row = Number(input) < 0 ? Number(input) + rows : Number(input);
    if (row >= 0 && row < rows) return { kind: "row", row };
    return { kind: "fault", message: rowsGo(rows) };
  }
  const match = slice.exec(input);
  if (!match) return { kind: "fault", message: "Write a row, 123, or a slice, 100:200 or 100:200:5." };
  const bound = (part: string | undefined, otherwise: number): number => {
    if (part === undefined) return otherwise;
    const value = Number(part) < 0 ? Number(part) + rows : Number(part);
    return Math.min(rows, Math.max(0, value));
  };
  const step = match[3] === undefined ? 1 : Number(match[3]);
  if (step === 0) return { kind: "fault", message: "The step of a slice is at least 1." };
  const begin = bound(match[1], 0);
  const end = bound(match[2], rows);
  if (begin >= end) return { kind: "fault", message: "This slice has no rows." };
  return { kind: "slice", begin, end, step };
}
