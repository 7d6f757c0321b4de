// Selects rows, and goes to a row or a slice.

import { sliceQuery } from "../text/tql";
import type { Navigation } from "./navigation";
import type { Page } from "./page";
import { parseTarget } from "./place";
import type { Queries } from "./queries";

export class Rows {
  constructor(private readonly page: Page, private readonly navigation: Navigation, private readonly queries: Queries) {}

  select(row: number): void {
    if (row === this.page.get().place.row) return;
    // The grid may respond with an event: change the place first.
    this.navigation.move({ row, item: 0, time: 0 });
    this.page.grid?.select(row);
  }

  /** Notes the rows in sight. */
  scrolled(first: number, count: number): void {
    this.page.set({ sight: { first, count } });
    if (first !== this.page.get().place.first) this.navigation.move({ first });
  }

  /** Goes to a row, or shows a slice; returns an error message, or "". */
  goTo(text: string): string {
    const { view, place } = this.page.get();
    if (!view) return "";
    const target = parseTarget(text, view.rows);
    if (target.kind === "fault") return target.message;
    if (target.kind === "row") {
      this.reveal(target.row);
      return "";
    }
    const query = sliceQuery(place.query, target.begin, target.end, target.step);
    if (query !== null) {
      void this.queries.run(query);
      return "";
    }
    this.reveal(target.begin);
    this.page.say("A slice with a step of a query's result scrolls to its begin.");
    return "";
  }

  /** Selects a row, and scrolls to it. */
  private reveal(row: number): void {
    this.select(row);
    this.page.grid?.scrollTo(row);
    this.navigation.move({ first: row });
  }
}
