// Runs the text of the query box, explains it, and saves its result.

import { messageOf } from "../../data/errors";
import { asQuery, toggleCondition } from "../text/tql";
import { History } from "./history";
import type { Page } from "./page";
import { saving } from "./saving";
import type { Views } from "./views";
import type { Visits } from "./visits";

export class Queries {
  readonly history = new History();

  constructor(private readonly page: Page, private readonly views: Views, private readonly visits: Visits) {}

  async run(text: string = this.page.get().draft): Promise<void> {
    this.history.add(text);
    this.page.set({ draft: text });
    const { place } = this.visits;
    const query = asQuery(text) ? text : "";
    if (query === place.query && !this.page.get().running) {
      this.page.set({ fault: null });
      return;
    }
    await this.visits.visit({ ...place, query, first: 0, row: -1, item: 0,
      mode: place.mode === "single" ? "" : place.mode }, "push");
  }

  /** Adds a condition to the query, or takes it away, and runs the query. */
  filter(condition: string): Promise<void> {
    return this.run(toggleCondition(this.page.get().draft, condition));
  }

  async explain(text: string = this.page.get().draft): Promise<void> {
    const query = asQuery(text) ?? { text: "SELECT *", shift: 0 };
    try {
      const plan = await this.views.withRoot((root) => this.page.client.explain(root.view, query.text));
      this.page.set({ plan, dialog: "plan", fault: null });
    } catch (error) {
      this.visits.fail(error, { ...this.page.get().place, query: text });
    }
  }

  /** Saves the rows that are shown as a view; returns an error message, or "". */
  async save(name: string, replace: boolean): Promise<string> {
    try {
      await this.views.withView(saving(this.page.client, name, replace));
    } catch (error) {
      return messageOf(error);
    }
    this.page.set({ dialog: "" });
    this.page.say(`Saved as the view ${name}`);
    return "";
  }
}
