// Keeps decoded samples by row and column, within a bound of bytes.

import { sampleBytes } from "./decode";
import type { Tensor } from "./protocol";
import type { Sample } from "./samples";

/** A demand for a row and column: pixels (Infinity: whole) of items `from` to `to`. */
export interface Need {
  pixels: number;
  from: number;
  to: number;
}

/** Pixels of a picture that came in full size; the whole sample may still be another file. */
export const fullSize = Number.MAX_SAFE_INTEGER;

/** The most items of a list. */
export const maxItems = 1_000_000;

export interface Cell {
  sample: Sample | undefined;
  /** Pixels that the sample serves; -1: none. */
  have: number;
  /** The whole sample is larger than the server sends. */
  wholeIsLarge: boolean;
  bytes: number;
  /** The turn in which the cell was last wanted. */
  used: number;
  /** A panel holds the sample: its bitmap is left to the garbage collector. */
  held: boolean;
}

/** The state of one row of one column. */
export interface Entry {
  readonly row: number;
  readonly column: Column;
  /** Items that exist; -1: not known yet. Samples without items count as one. */
  count: number;
  readonly cells: Map<number, Cell>;
  /** The needs that requests on their way serve. */
  readonly pending: Need[];
  need: Need;
  /** The turn in which the entry was last wanted. */
  wanted: number;
  /** The turn in which the entry was last put in a request or found complete. */
  visited: number;
  failure: Failure | undefined;
  /** The items as one sample, until one of them changes. */
  joined: Sample | undefined;
}

export interface Failure {
  tries: number;
  /** No request before that time. */
  retryAt: number;
  sample: Sample;
}

/** How the records of a column make samples. A list comes as items that make one sample. */
export type Form = "plain" | "sequence" | "list";

export interface Column {
  readonly name: string;
  readonly form: Form;
  /** Pictures and masks come in sizes. */
  readonly sized: boolean;
  readonly entries: Map<number, Entry>;
}

const sizedDraws: ReadonlySet<string> = new Set(["image", "mask", "segments", "video"]);

export function columnOf(tensor: Tensor): Column {
  const form = tensor.sequence ? "sequence" : tensor.list ? "list" : "plain";
  return { name: tensor.name, form, sized: sizedDraws.has(tensor.draw), entries: new Map() };
}

/** The column of the files from which rows were imported, which no view lists. */
export const sourceColumn = "_source";

export class Cells {
  readonly columns: ReadonlyMap<string, Column>;
  private total = 0;

  constructor(tensors: Tensor[], private readonly bound: number) {
    const source: Column = { name: sourceColumn, form: "plain", sized: false, entries: new Map() };
    this.columns = new Map([source, ...tensors.map(columnOf)].map((column) => [column.name, column]));
  }

  /** Bytes of decoded data. */
  get bytes(): number {
    return this.total;
  }

  entry(column: Column, row: number): Entry {
    let entry = column.entries.get(row);
    if (!entry) {
      entry = {
        row, column, count: column.form === "sequence" ? -1 : 1, cells: new Map(), pending: [],
        need: { pixels: 0, from: 0, to: 1 }, wanted: -1, visited: -1,
        failure: undefined, joined: undefined,
      };
      column.entries.set(row, entry);
    }
    return entry;
  }

  peek(row: number, name: string): Sample | undefined {
    const entry = this.columns.get(name)?.entries.get(row);
    if (!entry) return undefined;
    if (entry.column.form !== "sequence") return entry.cells.get(0)?.sample ?? entry.failure?.sample;
    if (entry.count < 0) return entry.failure?.sample;
    entry.joined ??= join(entry);
    return entry.joined;
  }

  /** Keeps a sample that serves so many pixels, unless a better one is there. */
  place(entry: Entry, item: number, sample: Sample, pixels: number): void {
    const cell = this.cell(entry, item);
    const served = entry.column.sized ? servedPixels(sample, pixels) : Infinity;
    entry.joined = undefined;
    if (sample.kind === "large" && pixels === Infinity && entry.column.sized) {
      cell.wholeIsLarge = true;
      if (cell.sample && cell.sample.kind !== "error") return;
    } else if (served < cell.have) {
      closeSample(sample);
      return;
    } else {
      cell.have = served;
    }
    // A picture on show is worth more than the message that a larger one failed.
    if (sample.kind === "error" && cell.sample && cell.sample.kind !== "error") return;
    this.replace(cell, sample);
  }

  /** Shows an error where there is nothing to show; the sample stays wanted. */
  placeFailure(entry: Entry, item: number, sample: Sample): void {
    const cell = this.cell(entry, item);
    if (cell.sample) return;
    entry.joined = undefined;
    this.replace(cell, sample);
  }

  /** Evicts the least recently wanted samples until the bound holds. */
  evict(turn: number): void {
    if (this.total <= this.bound) return;
    const idle: { entry: Entry; item: number; cell: Cell }[] = [];
    for (const column of this.columns.values()) {
      for (const entry of column.entries.values()) {
        for (const [item, cell] of entry.cells) {
          if (cell.used !== turn) idle.push({ entry, item, cell });
        }
      }
    }
    idle.sort((a, b) => a.cell.used - b.cell.used);
    // Evicts below the bound, so that not every sample that comes sorts the cells again.
    const goal = this.bound * 0.9;
    for (const { entry, item, cell } of idle) {
      if (this.total <= goal) break;
      this.replace(cell, undefined);
      entry.cells.delete(item);
      entry.joined = undefined;
      this.forget(entry);
    }
  }

  /** Drops an entry that holds nothing and waits for nothing. */
  forget(entry: Entry): void {
    if (entry.cells.size > 0 || entry.pending.length > 0 || entry.failure) return;
    entry.column.entries.delete(entry.row);
  }

  clear(): void {
    for (const column of this.columns.values()) {
      for (const entry of column.entries.values()) {
        for (const cell of entry.cells.values()) this.replace(cell, undefined);
      }
      column.entries.clear();
    }
  }

  private cell(entry: Entry, item: number): Cell {
    let cell = entry.cells.get(item);
    if (!cell) {
      cell = {
        sample: undefined, have: -1, wholeIsLarge: false, bytes: 0, used: entry.wanted, held: false,
      };
      entry.cells.set(item, cell);
    }
    return cell;
  }

  private replace(cell: Cell, sample: Sample | undefined): void {
    if (cell.sample && !cell.held) closeSample(cell.sample);
    cell.held = false;
    cell.sample = sample;
    this.total -= cell.bytes;
    cell.bytes = sample ? sampleBytes(sample) : 0;
    this.total += cell.bytes;
  }
}

/** Reports whether the samples that are there serve the need. */
export function satisfied(entry: Entry, need: Need): boolean {
  if (entry.count < 0) return false;
  const end = Math.min(need.to, entry.count);
  for (let item = need.from; item < end; item++) {
    const cell = entry.cells.get(item);
    if (!cell) return false;
    if (cell.have >= need.pixels) continue;
    if (!(need.pixels === Infinity && cell.wholeIsLarge)) return false;
  }
  return true;
}

/** Reports whether a request on its way serves the need. */
export function underway(entry: Entry, need: Need): boolean {
  return entry.pending.some((pending) => pending.pixels >= need.pixels
    && pending.from <= need.from && pending.to >= need.to);
}

/** Widens a need by another one. */
export function widen(need: Need, other: Need): void {
  need.pixels = Math.max(need.pixels, other.pixels);
  need.from = Math.min(need.from, other.from);
  need.to = Math.max(need.to, other.to);
}

/** Marks the cells of a need as wanted in this turn. */
export function touch(entry: Entry, turn: number): void {
  const { from, to } = entry.need;
  if (to - from > entry.cells.size) {
    for (const [item, cell] of entry.cells) if (item >= from && item < to) cell.used = turn;
    return;
  }
  for (let item = from; item < to; item++) {
    const cell = entry.cells.get(item);
    if (cell) cell.used = turn;
  }
}

export function closeSample(sample: Sample): void {
  if (sample.kind === "picture") sample.bitmap.close();
  if (sample.kind === "items") for (const item of sample.items) if (item) closeSample(item);
}

function servedPixels(sample: Sample, pixels: number): number {
  if (pixels === Infinity) return Infinity;
  if (sample.kind === "large") return fullSize;
  if (sample.kind === "array" && sample.width && sample.height) {
    // An array that was not made smaller is the whole sample.
    const longer = Math.max(sample.shape[0] ?? 0, sample.shape[1] ?? 0);
    if (longer >= Math.max(sample.width, sample.height)) return Infinity;
    return Math.max(pixels, longer);
  }
  if (sample.kind !== "picture") return Infinity;
  const side = Math.max(sample.bitmap.width, sample.bitmap.height);
  if (side >= Math.max(sample.width, sample.height)) return fullSize;
  return Math.max(pixels, side);
}

/** Joins the items that came into one sample; its array has holes for the others. */
function join(entry: Entry): Sample {
  const items: (Sample | undefined)[] = [];
  for (const [item, cell] of entry.cells) {
    if (item < entry.count && cell.sample) items[item] = cell.sample;
  }
  return { kind: "items", count: entry.count, items };
}
