// Keeps the address of the page in step with the place that it shows.

import { formatPlace, type Place } from "./place";

export interface Browser {
  location: Pick<Location, "hash" | "pathname" | "search" | "href">;
  history: Pick<History, "pushState" | "replaceState">;
}

// Browsers bound how often an address may be set.
const delay = 300;

export class Address {
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The fragment that was read or set last. The page has not followed another one yet. */
  private known = "";

  constructor(private readonly browser: Browser) {}

  /** Returns the fragment, which the caller follows. A replacement that waits is dropped. */
  read(): string {
    clearTimeout(this.timer);
    return (this.known = this.browser.location.hash);
  }

  /** Sets the address without a step back. */
  replace(fragment: string): void {
    this.browser.history.replaceState(null, "", this.of(fragment));
    this.read();
  }

  /** Sets the address, with a step back to the one before. */
  push(place: Place): void {
    this.browser.history.pushState(null, "", this.of(formatPlace(place)));
    this.read();
  }

  /**
   * Sets the address after a while, to the place of that moment. An address that the user has
   * changed meanwhile stays: its event is on the way.
   */
  replaceSoon(place: () => Place): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.browser.location.hash === this.known) this.replace(formatPlace(place()));
    }, delay);
  }

  /** Returns the link to a place. It holds no key. */
  link(place: Place): string {
    const base = this.browser.location.href.replace(/#.*$/, "");
    const fragment = formatPlace(place);
    return fragment ? `${base}#${fragment}` : base;
  }

  private of(fragment: string): string {
    const { pathname, search } = this.browser.location;
    return pathname + search + (fragment && "#" + fragment);
  }
}
