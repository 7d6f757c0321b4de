// Acts on the state: opens versions, runs queries, and keeps the address in step.

import { ApiError } from "../../data/errors";
import type { Client } from "../../data/client";
import type { Stats, View } from "../../data/protocol";
import { openStore as openStoreOf } from "../../data/store";
import { defaultOpacity } from "../../draw/plan";
import type { SampleStore } from "../../data/samples";
import type { Grid, Hit, Layer, OpenGrid, OpenSingle } from "../../draw/api";
import { Address, type Browser } from "./address";
import { Counts } from "./counts";
import { Connection } from "./connection";
import { choosePrimary } from "./tensors";
import { hiddenNames, hideOnly, layerOf, withDefaults, withLayer } from "./layers";
import {
  modeOf, clampCell, home, isElsewhere, isStep, parsePlace, parseTarget, rowsGo, takeKey, within,
  type Mode, type Place,
} from "./place";
import { hiddenClasses, hideClasses } from "./hiding";
import { saving } from "./saving";
import { initialState, Store, type Dialog, type QueryFault, type State } from "./state";
import { asQuery, faultLine, sliceQuery, toggleCondition } from "../text/tql";
import { History } from "./history";

export type Service = Pick<Client, "entered" | "enter" | "open" | "query" | "explain" | "close" |
  "stats" | "progress" | "project" | "values" | "select" | "versions" | "diff" | "words" | "samples" | "save">;

export interface Drawing {
  openGrid: OpenGrid;
  openSingle: OpenSingle;
}

const usedLink = {
  title: "This link was used before",
  message: "Run ds.visualize() or press Enter in the terminal where deeplake visualize runs for a new one.",
  retry: false,
};
const endedSession = { ...usedLink, title: "The session of this page has ended" };
const noLink = { ...usedLink, title: "This page needs a link with a key" };

export class Model {
  readonly state = new Store<State>(initialState());
  readonly connection: Connection;
  private readonly address: Address;
  readonly queries = new History();
  /** The grid of the page, once it is drawn. */
  grid: Grid | null = null;
  private work = new AbortController();
  private reopening: Promise<void> | null = null;
  private readonly counts = new Counts((name, signal, sample) =>
    this.withView((view) => this.client.stats(view.view, name, signal, sample), signal));

  constructor(readonly client: Service, readonly drawing: Drawing, browser: Browser = window,
    private readonly openStore: typeof openStoreOf = openStoreOf) {
    this.address = new Address(browser);
    this.connection = new Connection({
      offline: (retryAt, reason) => this.set({ offline: retryAt === null ? null : { retryAt, reason } }),
      refused: () => this.set({ stop: endedSession }),
    });
  }

  get(): State {
    return this.state.get();
  }

  set(patch: Partial<State>): void {
    this.state.set(patch);
  }

  say(notice: string): void {
    this.set({ notice });
  }

  // Start and address.

  async start(): Promise<void> {
    const { key, rest } = takeKey(this.address.fragment);
    this.set({ stop: null });
    if (key !== null) {
      // The key works once and does not belong into the history.
      this.address.replace(rest);
      const entered = await this.enter(key);
      if (!entered) return;
    }
    if (!this.client.entered) {
      this.set({ stop: noLink });
      return;
    }
    void this.loadWords();
    await this.visit(parsePlace(rest), "keep");
  }

  private async enter(key: string): Promise<boolean> {
    let stop: State["stop"] = null;
    try {
      await this.connection.call(() => this.client.enter(key));
      // Another server may have the address now: nothing of the old session holds.
      this.set({ root: null });
    } catch (error) {
      // A page that is loaded again with an old link may still have its token.
      if (!this.client.entered) {
        const broken = error instanceof ApiError && error.status >= 500;
        stop = broken ? failed(error) : usedLink;
      }
    }
    this.set({ stop });
    return stop === null;
  }

  private async loadWords(): Promise<void> {
    try {
      this.set({ words: await this.connection.call(() => this.client.words()) });
    } catch {
      // Completion then knows the tensors alone.
    }
  }

  /** The address was changed by the browser: back, forward, or by hand. */
  followAddress(): void {
    const { key, rest } = takeKey(this.address.fragment);
    if (key !== null) void this.start();
    else void this.visit(parsePlace(rest), "keep");
  }

  /** The link to the current place. */
  link(change: Partial<Place> = {}): string {
    return this.address.link({ ...this.get().place, ...change });
  }

  /** Changes the place without a step back; the address follows soon. */
  move(change: Partial<Place>): void {
    const place = { ...this.get().place, ...change };
    this.set({ place });
    this.address.replaceSoon(() => this.get().place);
  }

  /** Changes how rows are looked at, with a step back. */
  step(change: Partial<Place>): void {
    const from = this.get().place;
    const place = { ...from, ...change };
    this.set({ place });
    if (isStep(from, place)) this.address.push(place);
    else this.address.replaceSoon(() => this.get().place);
  }

  // Versions and queries.

  /** Shows a place. Opens its version and runs its query unless they are open already. */
  async visit(place: Place, address: "push" | "keep"): Promise<boolean> {
    const { root, place: from, draft } = this.get();
    if (root && !isElsewhere(from, place)) {
      this.show(place, address);
      return true;
    }
    this.work.abort();
    const work = this.work = new AbortController();
    this.set({ running: true, fault: null });
    try {
      const same = root !== null && from.at === place.at && from.saved === place.saved;
      const opened = same ? root : await this.openRoot(place, work.signal);
      if (!same) this.setView(opened, opened, { ...place, query: "", first: 0, row: -1 });
      const view = await this.result(opened, place, work.signal);
      if (work.signal.aborted) return false;
      // The view may have been opened again for the query.
      this.setView(this.get().root ?? opened, view, place);
      this.set({ running: false });
      this.write(place.query, draft);
      if (address === "push") this.address.push(place);
      this.say(`${view.rows.toLocaleString("en")} ${view.rows === 1 ? "row" : "rows"}`);
      this.stayWithin(view);
      return true;
    } catch (error) {
      if (work.signal.aborted) return false;
      this.set({ running: false });
      this.failed(error, place, draft);
      return false;
    }
  }

  /** An address may name a row that the view does not have. */
  private stayWithin(view: View): void {
    const { place } = this.get();
    const inside = within(place, view.rows);
    if (inside === place) return;
    this.move(inside);
    this.grid?.select(inside.row);
    this.say(rowsGo(view.rows));
  }

  /** Leaves an address that names what cannot be opened. */
  async openStart(): Promise<void> {
    this.set({ stop: null });
    if (await this.visit({ ...home }, "keep")) this.address.replace("");
  }

  /** Writes the text of the query box, unless the user has changed `before` meanwhile. */
  private write(text: string, before: string): void {
    if (this.get().draft === before) this.set({ draft: text });
  }

  private async openRoot(place: Place, signal: AbortSignal): Promise<View> {
    const request = place.saved ? { saved: place.saved } : place.at ? { at: place.at } : {};
    return this.connection.call(() => this.client.open(request, signal), signal);
  }

  private async result(root: View, place: Place, signal: AbortSignal): Promise<View> {
    const query = asQuery(place.query);
    if (!query) return root;
    return this.withRoot((view) => this.client.query(view.view, query.text, signal), signal);
  }

  /** Runs a request on the version; opens it again if the server forgot it. */
  async withRoot<T>(task: (root: View) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const attempt = (): Promise<T> => this.connection.call(() => {
      const { root } = this.get();
      return root ? task(root) : Promise.reject(new Error("nothing is open"));
    }, signal);
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ApiError && error.unknownView)) throw error;
      await this.reopen();
      return attempt();
    }
  }

  /** Runs a request on the open view; opens the view again if the server dropped it. */
  async withView<T>(task: (view: View) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const attempt = (): Promise<T> => this.withRoot(() => {
      const { view } = this.get();
      return view ? task(view) : Promise.reject(new Error("nothing is open"));
    }, signal);
    return attempt();
  }

  /**
   * Statistics of a tensor of the view, of all rows or of `sample`. The request ends with the last
   * caller who waits for it.
   */
  stats(name: string, signal?: AbortSignal, sample = 0): Promise<Stats> {
    return this.counts.get(name, signal, sample);
  }

  /** Opens the version and its result again; requests that find them gone share one attempt. */
  reopen(): Promise<void> {
    this.reopening ??= this.openAgain().finally(() => (this.reopening = null));
    return this.reopening;
  }

  private async openAgain(): Promise<void> {
    const { place } = this.get();
    const signal = this.work.signal;
    const root = await this.openRoot(place, signal);
    const query = asQuery(place.query);
    const view = query
      ? await this.connection.call(() => this.client.query(root.view, query.text, signal), signal)
      : root;
    if (!signal.aborted) this.setView(root, view, this.get().place, true);
  }

  private setView(root: View, view: View, place: Place, again = false): void {
    const before = this.get();
    if (before.view === view && before.root === root) {
      this.set({ place });
      return;
    }
    const primary = choosePrimary(view, place.picture);
    const layers = layersAt(withDefaults(view, before.layers, defaultOpacity), place);
    this.set({
      picked: false, root, view, store: this.storeOf(view), place, primary, layers, hover: null,
    });
    if (!again) this.counts.clear();
    before.store?.close();
    if (!again && before.view && before.view !== before.root && before.view !== view) {
      this.client.close(before.view.view).catch(() => undefined);
    }
  }

  /** The samples of a view. Requests wait while the server is gone. */
  storeOf(view: View, gone: () => void = () => this.gone(view)): SampleStore {
    const samples: Client["samples"] = async (request, onRecord, signal) => {
      try {
        await this.connection.call(() => this.client.samples(request, onRecord, signal), signal);
      } catch (error) {
        if (error instanceof ApiError && error.unknownView) gone();
        throw error;
      }
    };
    return this.openStore({ samples }, view);
  }

  /** Shows rows of the view, until another query or version is opened. */
  async pick(rows: number[]): Promise<void> {
    try {
      const { place } = this.get();
      const view = await this.withView((of) => this.client.select(of.view, rows));
      const { root } = this.get();
      if (!root) return;
      this.setView(root, view, { ...place, first: 0, row: -1, item: 0, mode: "" });
      this.set({ picked: true });
      this.say(`${view.rows.toLocaleString("en")} selected rows; the address does not keep them`);
    } catch (error) {
      this.say(messageOf(error));
    }
  }

  /** Shows all rows of the query again. */
  async unpick(): Promise<void> {
    this.counts.clear();
    await this.reopen().catch((error: unknown) => this.say(messageOf(error)));
  }

  private gone(view: View): void {
    if (this.get().view === view) void this.reopen().catch(() => undefined);
  }

  private show(place: Place, address: "push" | "keep"): void {
    const { place: before, view } = this.get();
    const layers = layersAt(this.get().layers, place);
    const primary = view ? choosePrimary(view, place.picture) : "";
    this.set({ place, layers, primary, draft: place.query });
    if (place.cell !== before.cell) this.grid?.setCell(place.cell);
    if (place.first !== before.first) this.grid?.scrollTo(place.first);
    if (place.row >= 0 && place.row !== before.row) this.grid?.select(place.row);
    if (address === "push") this.address.push(place);
    if (view) this.stayWithin(view);
  }

  private failed(error: unknown, place: Place, draft = this.get().draft): void {
    if (this.get().stop) return;
    const { root } = this.get();
    if (!root) {
      this.set({ stop: failed(error, place.at !== "" || place.saved !== "") });
      return;
    }
    this.set({ fault: faultOf(error, place.query) });
    this.write(place.query, draft);
    // The message stands below the query, and is read out from there.
    this.say("");
  }

  /** Runs the text of the query box. */
  async run(text: string = this.get().draft): Promise<void> {
    this.queries.add(text);
    this.set({ draft: text });
    const { place } = this.get();
    const query = asQuery(text) ? text : "";
    if (query === place.query && !this.get().running) {
      this.set({ fault: null });
      return;
    }
    await this.visit({ ...place, query, first: 0, row: -1, item: 0,
      mode: place.mode === "single" ? "" : place.mode }, "push");
  }

  async explain(text: string = this.get().draft): Promise<void> {
    const query = asQuery(text) ?? { text: "SELECT *", shift: 0 };
    try {
      const plan = await this.withRoot((root) => this.client.explain(root.view, query.text));
      this.set({ plan, dialog: "plan", fault: null });
    } catch (error) {
      this.failed(error, { ...this.get().place, query: text });
    }
  }

  /** Saves the rows that are shown as a view; returns an error message, or "". */
  async saveView(name: string, replace: boolean): Promise<string> {
    try {
      await this.withView(saving(this.client, name, replace));
    } catch (error) {
      return messageOf(error);
    }
    this.set({ dialog: "" });
    this.say(`Saved as the view ${name}`);
    return "";
  }

  filter(condition: string): Promise<void> {
    return this.run(toggleCondition(this.get().draft, condition));
  }

  openVersion(version: { at?: string; saved?: string }): Promise<boolean> {
    const { place } = this.get();
    this.set({ dialog: "" });
    return this.visit({ ...home, cell: place.cell, hidden: place.hidden, classes: place.classes,
      picture: place.picture, pair: place.pair, color: place.color,
      mode: place.mode === "single" ? "" : place.mode,
      at: version.at ?? "", saved: version.saved ?? "" }, "push");
  }

  /** Goes to a row, or shows a slice; returns an error message, or "". */
  goTo(text: string): string {
    const { view, place } = this.get();
    if (!view) return "";
    const target = parseTarget(text, view.rows);
    if (target.kind === "fault") return target.message;
    if (target.kind === "row") {
      this.select(target.row);
      this.grid?.scrollTo(target.row);
      this.move({ first: target.row });
      return "";
    }
    const query = sliceQuery(place.query, target.begin, target.end, target.step);
    if (query !== null) {
      void this.run(query);
      return "";
    }
    this.select(target.begin);
    this.grid?.scrollTo(target.begin);
    this.move({ first: target.begin });
    this.say("A slice with a step of a query's result scrolls to its begin.");
    return "";
  }

  // Looks.

  select(row: number): void {
    if (row === this.get().place.row) return;
    // The grid may answer with an event: the place is changed first.
    this.move({ row, item: 0 });
    this.grid?.select(row);
  }

  setMode(mode: Exclude<Mode, "">): void {
    const { place, primary } = this.get();
    if (modeOf(place.mode, primary) === mode) return;
    this.step({ mode, row: mode === "single" && place.row < 0 ? place.first : place.row });
  }

  setCell(pixels: number): void {
    const cell = clampCell(pixels);
    this.grid?.setCell(cell);
    this.move({ cell });
  }

  setLayer(name: string, change: Partial<Layer>): void {
    const layers = withLayer(this.get().layers, name, change);
    this.set({ layers });
    if (change.visible !== undefined) this.move({ hidden: hiddenNames(layers) });
    if (change.hidden !== undefined) this.move({ classes: hiddenClasses(layers) });
  }

  /** Chooses the tensor whose pictures cells show. */
  showPictures(name: string): void {
    this.set({ primary: name });
    this.move({ picture: name });
  }

  toggleLayer(name: string): void {
    this.setLayer(name, { visible: !layerOf(this.get().layers, name).visible });
  }

  hover(hit: Hit | null): void {
    this.set({ hover: hit });
  }

  scrolled(first: number, count: number): void {
    this.set({ sight: { first, count } });
    if (first !== this.get().place.first) this.move({ first });
  }

  open(dialog: Dialog): void {
    this.set({ dialog });
  }
}

function failed(error: unknown, named = false): State["stop"] {
  const title = named ? "This version cannot be opened" : "The dataset cannot be opened";
  return { title, message: messageOf(error), retry: true, named };
}

/** The layers with what a place hides. */
function layersAt(layers: State["layers"], { hidden, classes }: Place): State["layers"] {
  return hideClasses(hideOnly(layers, hidden), classes);
}

/** A refused query, with the place of the fault in the text of the user. */
export function faultOf(error: unknown, text: string): QueryFault {
  const message = messageOf(error);
  const position = error instanceof ApiError ? error.position : undefined;
  const shift = asQuery(text)?.shift ?? 0;
  if (position === undefined || position < shift) return { message, line: "", column: -1 };
  // The page shows the line itself, with the text as the user wrote it.
  const [problem = message] = message.replace(/^query, line \d+, column \d+: /, "").split("\n");
  return { message: problem, ...faultLine(text, position - shift) };
}
