// Rows of a store under new numbers, and which rows of two versions belong together.

import type { Diff } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";

/** Shows `rows` of a store as rows 0, 1, ... A row of -1 has no samples. Closing leaves the
 * store open. */
export function subset(store: SampleStore, rows: readonly number[], owner: string): SampleStore {
  const rowOf = (row: number): number => rows[row] ?? -1;
  return {
    view: { ...store.view, rows: rows.length },
    peek: (row, column) => (rowOf(row) < 0 ? { kind: "missing" } : store.peek(rowOf(row), column)),
    index: (row) => store.index(rowOf(row)),
    want: (wants, by) => store.want(wants.map((want) =>
      ({ ...want, rows: want.rows.map(rowOf).filter((row) => row >= 0) })), `${owner} ${by}`),
    load: (row, column, signal) => (rowOf(row) < 0
      ? Promise.resolve({ kind: "missing" }) : store.load(rowOf(row), column, signal)),
    region: (want, signal) => store.region({ ...want, row: rowOf(want.row) }, signal),
    subscribe: (changed) => store.subscribe(changed),
    close: () => undefined,
  };
}

/** Finds rows of `from` for rows of `to`: rows keep their order, some are added, some removed. */
export class RowMap {
  private readonly added: number[];
  private readonly removed: number[];
  private readonly lastAdded: number;
  private readonly lastRemoved: number;

  constructor(diff: Diff) {
    this.added = sorted(diff.added);
    this.removed = sorted(diff.removed);
    // A list that was cut says nothing about the rows behind its end.
    this.lastAdded = this.added.length < diff.rows.added ? this.added[this.added.length - 1] ?? -1 : Infinity;
    this.lastRemoved = this.removed.length < diff.rows.removed
      ? this.removed[this.removed.length - 1] ?? -1 : Infinity;
  }

  /** The row of `from` that a row of `to` was; -1: none, or not known. */
  before(row: number): number {
    if (row > this.lastAdded) return -1;
    const at = below(this.added, row);
    if (this.added[at] === row) return -1;
    let old = row - at;
    // The old row has as many kept rows before it: each removed one up to it shifts it by one.
    for (const gone of this.removed) {
      if (gone > old) break;
      old++;
    }
    return old > this.lastRemoved ? -1 : old;
  }
}

function sorted(rows: readonly number[]): number[] {
  return [...new Set(rows)].sort((a, b) => a - b);
}

/** Returns the number of sorted numbers below a value. */
function below(list: readonly number[], value: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
