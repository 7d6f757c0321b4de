// The state of the page, in one store that components subscribe to by part.

import type { View } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import type { Hit, Layer } from "../../draw/api";
import type { Range } from "../../draw/pixels";
import type { Words } from "../text/complete";
import { home, type Place } from "./place";

export interface Stop {
  title: string;
  message: string;
  /** A new attempt may succeed. */
  retry: boolean;
  /** The address named a version or view that cannot be opened; that of the start may open. */
  named?: boolean;
}

export interface QueryFault {
  message: string;
  /** The line of the text around the fault, and the column in it; -1: the position is not known. */
  line: string;
  column: number;
}

export type Theme = "auto" | "dark" | "light";
export type Dialog = "" | "versions" | "help" | "compare" | "plan" | "save";

export interface State {
  /** The reason for which the page shows no dataset; null: it shows one. */
  stop: Stop | null;
  /** The version without a query. */
  root: View | null;
  /** The view on show. */
  view: View | null;
  store: SampleStore | null;
  /** The view consists of rows that were chosen on the map. */
  picked: boolean;
  place: Place;
  /** The text of the query box. */
  draft: string;
  fault: QueryFault | null;
  running: boolean;
  plan: string;
  words: Words;
  /** The pictures that cells show; "": cells of text. */
  primary: string;
  layers: Record<string, Layer>;
  /** By name of tensor: the values that are black and white, once the user has chosen them. */
  windows: ReadonlyMap<string, Range>;
  theme: Theme;
  /** The theme in effect. */
  dark: boolean;
  hover: Hit | null;
  sight: { first: number; count: number };
  dialog: Dialog;
  /** The menu of a narrow window is open. */
  menu: boolean;
  compare: { from: string; to: string } | null;
  /**
   * null: the server responds. Else the time of the next attempt, Infinity: there is none; and the
   * reason for which a server that responds refuses all requests.
   */
  offline: { retryAt: number; reason: string } | null;
  /** Read out by screen readers, and shown in the status line. */
  notice: string;
  /** The overlays that were chosen for a view side by side. */
  pair: readonly string[];
  left: Panel;
  right: Panel;
}

export interface Panel {
  open: boolean;
  width: number;
}

export function initialState(): State {
  return {
    stop: null, root: null, view: null, store: null, picked: false, place: { ...home }, draft: "", fault: null,
    running: false, plan: "", words: { keywords: [], functions: [] }, primary: "", layers: {}, windows: new Map(),
    theme: "auto", dark: false, hover: null, sight: { first: 0, count: 0 }, dialog: "", menu: false,
    compare: null, offline: null, notice: "", pair: [], left: { open: true, width: 260 },
    right: { open: true, width: 320 },
  };
}

/** A value that components read and subscribe to. */
export class Store<T extends object> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get(): T {
    return this.value;
  }

  set(patch: Partial<T>): void {
    const keys = Object.keys(patch) as (keyof T)[];
    if (keys.every((key) => Object.is(this.value[key], patch[key]))) return;
    this.value = { ...this.value, ...patch };
    for (const listener of [...this.listeners]) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}
