// Starts the page: enters by the key of its link, and follows the address.

import { ApiError } from "../../data/errors";
import type { Navigation } from "./navigation";
import type { Page } from "./page";
import { parsePlace, takeKey } from "./place";
import type { State } from "./state";
import { noLink, notOpened, usedLink } from "./stops";
import type { Visits } from "./visits";

export class Session {
  constructor(private readonly page: Page, private readonly navigation: Navigation, private readonly visits: Visits) {}

  async start(): Promise<void> {
    const { address } = this.navigation;
    const { key, rest } = takeKey(address.read());
    this.page.set({ stop: null });
    // The key works once and does not belong into the history.
    if (key !== null) address.replace(rest);
    await this.visits.visitOnce(this.mayEnter(key), parsePlace(rest));
  }

  /** Follows a change of the address by the browser: back, forward, or by hand. */
  followAddress(): void {
    const { key, rest } = takeKey(this.navigation.address.read());
    if (key !== null) void this.start();
    else void this.visits.visit(parsePlace(rest), "keep");
  }

  /** Enters by a key, or with the token of an earlier visit. Returns whether that worked. */
  private async mayEnter(key: string | null): Promise<boolean> {
    if (key !== null && !(await this.enter(key))) return false;
    if (!this.page.client.entered) {
      this.page.set({ stop: noLink });
      return false;
    }
    void this.loadWords();
    return true;
  }

  private async enter(key: string): Promise<boolean> {
    const { client, connection } = this.page;
    let stop: State["stop"] = null;
    try {
      await connection.call(() => client.enter(key));
      // Another server may have the address now: nothing of the old session holds.
      this.page.set({ root: null });
    } catch (error) {
      // A page that is loaded again with an old link may still have its token.
      if (!client.entered) {
        const broken = error instanceof ApiError && error.status >= 500;
        stop = broken ? notOpened(error) : usedLink;
      }
    }
    this.page.set({ stop });
    return stop === null;
  }

  private async loadWords(): Promise<void> {
    const { client, connection } = this.page;
    try {
      this.page.set({ words: await connection.call(() => client.words()) });
    } catch {
      // Completion then knows the tensors alone.
    }
  }
}
