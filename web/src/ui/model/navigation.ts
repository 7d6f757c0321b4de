// Changes the place, and the address of the page with it.

import { Address, type Browser } from "./address";
import type { Page } from "./page";
import { isStep, type Place } from "./place";

export class Navigation {
  readonly address: Address;

  constructor(private readonly page: Page, browser: Browser) {
    this.address = new Address(browser);
  }

  /** Returns the link to the current place, with some of it changed. */
  link(change: Partial<Place> = {}): string {
    return this.address.link({ ...this.page.get().place, ...change });
  }

  /** Changes the place without a step back; the address follows soon. */
  move(change: Partial<Place>): void {
    const place = { ...this.page.get().place, ...change };
    this.page.set({ place });
    this.address.replaceSoon(() => this.page.get().place);
  }

  /** Changes the place, with a step back to the mode before. */
  step(change: Partial<Place>): void {
    const from = this.page.get().place;
    const place = { ...from, ...change };
    if (!isStep(from, place)) {
      this.move(change);
      return;
    }
    this.page.set({ place });
    this.address.push(place);
  }
}
