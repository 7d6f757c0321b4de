// Opens versions and views on the server, and opens them again when the server forgot them.

import type { Client } from "../../data/client";
import { ApiError, messageOf } from "../../data/errors";
import type { Stats, View } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import type { openStore as openStoreOf } from "../../data/store";
import { defaultOpacity } from "../../draw/plan";
import { asQuery } from "../text/tql";
import { Counts } from "./counts";
import { layersAt } from "./hiding";
import { withDefaults } from "./layers";
import type { Page } from "./page";
import type { Place } from "./place";
import { choosePrimary } from "./tensors";

export class Views {
  private work = new AbortController();
  private reopening: Promise<void> | null = null;
  private readonly counts = new Counts((name, signal, sample) =>
    this.withView((view) => this.page.client.stats(view.view, name, signal, sample), signal));

  constructor(private readonly page: Page, private readonly openStore: typeof openStoreOf) {}

  /** Ends the work on the place before; returns the signal that ends the work on the next one. */
  begin(): AbortSignal {
    this.work.abort();
    this.work = new AbortController();
    return this.work.signal;
  }

  /** Opens the version of a place, runs its query and shows the result: the version meanwhile. */
  async open(place: Place, signal: AbortSignal): Promise<View> {
    const { root, place: from } = this.page.get();
    const same = root !== null && from.at === place.at && from.saved === place.saved;
    const opened = same ? root : await this.openRoot(place, signal);
    if (!same) this.show(opened, opened, { ...place, query: "", first: 0, row: -1 });
    const view = await this.result(opened, place, signal);
    // The version may have been opened again for the query.
    if (!signal.aborted) this.show(this.page.get().root ?? opened, view, place);
    return view;
  }

  /** Runs a request on the version; opens it again if the server forgot it. */
  async withRoot<T>(task: (root: View) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const attempt = (): Promise<T> => this.page.connection.call(() => {
      const { root } = this.page.get();
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
  withView<T>(task: (view: View) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.withRoot(() => {
      const { view } = this.page.get();
      return view ? task(view) : Promise.reject(new Error("nothing is open"));
    }, signal);
  }

  /**
   * Counts a tensor of the view, in all rows or in `sample` of them. The request ends with the last
   * caller that waits for it.
   */
  stats(name: string, signal?: AbortSignal, sample = 0): Promise<Stats> {
    return this.counts.get(name, signal, sample);
  }

  /** Opens the version and its result again; requests that find them gone share one attempt. */
  reopen(): Promise<void> {
    this.reopening ??= this.openAgain().finally(() => (this.reopening = null));
    return this.reopening;
  }

  /** Opens the samples of a view. Requests wait while the server does not respond. */
  storeOf(view: View, gone: () => void = () => this.gone(view)): SampleStore {
    const samples: Client["samples"] = async (request, onRecord, signal) => {
      try {
        await this.page.connection.call(() => this.page.client.samples(request, onRecord, signal), signal);
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
      const { place } = this.page.get();
      const view = await this.withView((of) => this.page.client.select(of.view, rows));
      const { root } = this.page.get();
      if (!root) return;
      this.show(root, view, { ...place, first: 0, row: -1, item: 0, time: 0, mode: "" });
      this.page.set({ picked: true });
      this.page.say(`${view.rows.toLocaleString("en")} selected rows; the address does not keep them`);
    } catch (error) {
      this.page.say(messageOf(error));
    }
  }

  /** Shows all rows of the query again. */
  async unpick(): Promise<void> {
    this.counts.clear();
    await this.reopen().catch((error: unknown) => this.page.say(messageOf(error)));
  }

  private openRoot(place: Place, signal: AbortSignal): Promise<View> {
    const request = place.saved ? { saved: place.saved } : place.at ? { at: place.at } : {};
    return this.page.connection.call(() => this.page.client.open(request, signal), signal);
  }

  private async result(root: View, place: Place, signal: AbortSignal): Promise<View> {
    const query = asQuery(place.query);
    if (!query) return root;
    return this.withRoot((view) => this.page.client.query(view.view, query.text, signal), signal);
  }

  private async openAgain(): Promise<void> {
    const { place } = this.page.get();
    const { signal } = this.work;
    const root = await this.openRoot(place, signal);
    const query = asQuery(place.query);
    const view = query
      ? await this.page.connection.call(() => this.page.client.query(root.view, query.text, signal), signal)
      : root;
    if (!signal.aborted) this.show(root, view, this.page.get().place, true);
  }

  private show(root: View, view: View, place: Place, again = false): void {
    const before = this.page.get();
    if (before.view === view && before.root === root) {
      this.page.set({ place });
      return;
    }
    const primary = choosePrimary(view, place.picture);
    const layers = layersAt(withDefaults(view, before.layers, defaultOpacity), place);
    this.page.set({
      picked: false, root, view, store: this.storeOf(view), place, primary, layers, hover: null,
    });
    if (!again) this.counts.clear();
    before.store?.close();
    if (!again && before.view && before.view !== before.root && before.view !== view) {
      this.page.client.close(before.view.view).catch(() => undefined);
    }
  }

  private gone(view: View): void {
    if (this.page.get().view === view) void this.reopen().catch(() => undefined);
  }
}
