// Visits places: opens their versions, runs their queries, and keeps the address in step.

import type { View } from "../../data/protocol";
import { faultOf } from "./faults";
import { layersAt } from "./hiding";
import type { Navigation } from "./navigation";
import type { Page } from "./page";
import { home, isElsewhere, rowsGo, within, type Place } from "./place";
import { notOpened } from "./stops";
import { choosePrimary } from "./tensors";
import type { Views } from "./views";

export class Visits {
  private opening: Place | null = null;
  private entering = false;

  constructor(private readonly page: Page, private readonly navigation: Navigation, private readonly views: Views) {}

  /** The place that the page shows, or is about to show. */
  get place(): Place {
    return this.opening ?? this.page.get().place;
  }

  /** Visits a place as soon as the page has entered, or where the user wants to go meanwhile. */
  async visitOnce(entered: Promise<boolean>, place: Place): Promise<void> {
    const { draft } = this.page.get();
    this.opening = place;
    this.entering = true;
    const inside = await entered;
    this.entering = false;
    const next = this.place;
    this.opening = null;
    if (!inside) this.page.set({ running: false });
    else if (next === place) await this.visit(place, "keep", draft);
    else await this.visit(next, "push");
  }

  /** Shows a place. Opens its version and runs its query unless they are open already. */
  async visit(place: Place, address: "push" | "keep", draft = this.page.get().draft): Promise<boolean> {
    const { root, place: from } = this.page.get();
    if (this.entering) {
      this.opening = place;
      this.page.set({ running: true });
      return true;
    }
    if (root && !isElsewhere(from, place)) {
      this.look(place, address);
      return true;
    }
    const signal = this.views.begin();
    this.opening = place;
    this.page.set({ running: true, fault: null });
    try {
      const view = await this.views.open(place, signal);
      if (signal.aborted) return false;
      this.opening = null;
      this.page.set({ running: false });
      this.write(place.query, draft);
      if (address === "push") this.navigation.address.push(place);
      this.page.say(`${view.rows.toLocaleString("en")} ${view.rows === 1 ? "row" : "rows"}`);
      this.stayWithin(view);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      this.opening = null;
      this.page.set({ running: false });
      this.fail(error, place, draft);
      return false;
    }
  }

  /** Leaves an address that names a version which cannot be opened. */
  async openStart(): Promise<void> {
    this.page.set({ stop: null });
    if (await this.visit({ ...home }, "keep")) this.navigation.address.replace("");
  }

  /** Opens a version or a saved view with the looks of the current place. */
  openVersion(version: { at?: string; saved?: string }): Promise<boolean> {
    const { place } = this.page.get();
    this.page.set({ dialog: "" });
    return this.visit({ ...home, cell: place.cell, hidden: place.hidden, classes: place.classes,
      picture: place.picture, pair: place.pair, color: place.color,
      mode: place.mode === "single" ? "" : place.mode,
      at: version.at ?? "", saved: version.saved ?? "" }, "push");
  }

  /** Shows why a place cannot be shown: below the query, or instead of a dataset. */
  fail(error: unknown, place: Place, draft = this.page.get().draft): void {
    if (this.page.get().stop) return;
    const { root } = this.page.get();
    if (!root) {
      this.page.set({ stop: notOpened(error, place.at !== "" || place.saved !== "") });
      return;
    }
    this.page.set({ fault: faultOf(error, place.query) });
    this.write(place.query, draft);
    // The message stands below the query, and is read out from there.
    this.page.say("");
  }

  /** Shows another place of the open view. */
  private look(place: Place, address: "push" | "keep"): void {
    const { place: before, view } = this.page.get();
    const layers = layersAt(this.page.get().layers, place);
    const primary = view ? choosePrimary(view, place.picture) : "";
    this.page.set({ place, layers, primary, draft: place.query });
    const { grid } = this.page;
    if (place.cell !== before.cell) grid?.setCell(place.cell);
    if (place.first !== before.first) grid?.scrollTo(place.first);
    if (place.row >= 0 && place.row !== before.row) grid?.select(place.row);
    if (address === "push") this.navigation.address.push(place);
    if (view) this.stayWithin(view);
  }

  /** An address may name a row that the view does not have. */
  private stayWithin(view: View): void {
    const { place } = this.page.get();
    const inside = within(place, view.rows);
    if (inside === place) return;
    this.navigation.move(inside);
    this.page.grid?.select(inside.row);
    this.page.say(rowsGo(view.rows));
  }

  /** Writes the text of the query box, unless the user has changed `before` meanwhile. */
  private write(text: string, before: string): void {
    if (this.page.get().draft === before) this.page.set({ draft: text });
  }
}
