// Requests that live as long as a component.

import { useEffect, useReducer, useState } from "preact/hooks";
import { messageOf } from "../../data/errors";
import type { Stats, Tensor, View } from "../../data/protocol";
import type { Sample, SampleStore } from "../../data/samples";
import { exactRows, sampleRows } from "../model/counts";
import { useApp, useModel } from "./app";

/** Draws the component again after samples have come. */
export function useSamples(store: SampleStore | null): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => store?.subscribe(() => redraw(0)), [store]);
}

export interface Task<T> {
  value: T | undefined;
  error: string;
  busy: boolean;
}

/** Runs a request while the component is there, again when `on` changes; null: nothing to run. */
export function useTask<T>(task: ((signal: AbortSignal) => Promise<T>) | null,
  on: readonly unknown[]): Task<T> {
  const [state, set] = useState<Task<T>>({ value: undefined, error: "", busy: task !== null });
  useEffect(() => {
    if (!task) return;
    const abort = new AbortController();
    set((before) => ({ ...before, busy: true }));
    task(abort.signal).then(
      (value) => abort.signal.aborted || set({ value, error: "", busy: false }),
      (error: unknown) => abort.signal.aborted ||
        set({ value: undefined, error: messageOf(error), busy: false }));
    return () => abort.abort();
  }, [task === null, ...on]);
  return state;
}

export interface Counted extends Task<Stats> {
  /** The statistics are of all rows. */
  exact: boolean;
}

/**
 * Statistics of a tensor of the view: of a sample first where there are many rows. `rough`: the
 * sample is enough.
 */
export function useStats(tensor: Pick<Tensor, "name">, wanted: boolean, rough = false): Counted {
  const model = useModel();
  const view = useApp((s) => s.view);
  const large = (view?.rows ?? 0) > exactRows;
  const on = [view, tensor.name];
  const count = (sample: number) => async (signal: AbortSignal) =>
    ({ view, name: tensor.name, stats: await model.views.stats(tensor.name, signal, sample) });
  // A task keeps its value until the next one comes: it may be of another view or tensor.
  const own = <T extends { view: View | null; name: string }>(value: T | undefined): T | undefined =>
    value?.view === view && value.name === tensor.name ? value : undefined;
  const about = useTask(wanted && view && large ? count(sampleRows) : null, on);
  const first = own(about.value);
  const sampled = !large || first !== undefined || about.error !== "";
  const all = useTask(wanted && view && sampled && !(rough && large) ? count(0) : null, on);
  const last = own(all.value);
  // The numbers of another view of the tensor stand until there are new ones.
  const before = all.value?.name === tensor.name ? all.value : undefined;
  return {
    value: (last ?? first ?? before)?.stats, exact: last !== undefined,
    error: all.error || (rough ? about.error : ""), busy: all.busy || about.busy,
  };
}

/** Loads the whole sample of a row once it is wanted. */
export function useSample(store: SampleStore | null, row: number, column: string,
  wanted: boolean): Task<Sample> {
  const ready = store !== null && wanted && row >= 0 && row < store.view.rows;
  return useTask(ready ? (signal) => store.load(row, column, signal) : null, [store, row, column]);
}
