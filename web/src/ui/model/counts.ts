// Statistics of one view: a few requests at a time, each ended once no panel waits for it.

import type { Stats } from "../../data/protocol";

// Browsers open six connections to a server; pictures need the others.
const atOnce = 2;

/** Views of more rows are counted by a sample first, of `sampleRows`. */
export const exactRows = 200_000;
export const sampleRows = 20_000;

interface Count {
  promise: Promise<Stats>;
  abort: AbortController;
  waiting: number;
  done: boolean;
}

export class Counts {
  private all = new Map<string, Count>();
  private running = 0;
  private readonly queue: (() => void)[] = [];

  constructor(private readonly run:
    (name: string, signal: AbortSignal, sample: number) => Promise<Stats>) {}

  /** Statistics of a tensor, of all rows or of `sample`; concurrent calls share one request. */
  get(name: string, signal?: AbortSignal, sample = 0): Promise<Stats> {
    const key = `${sample} ${name}`;
    let count = this.all.get(key);
    if (!count) {
      count = this.start(key, (ends) => this.run(name, ends, sample));
      this.all.set(key, count);
    }
    const { promise } = count;
    if (signal && !count.done) this.waitFor(key, count, signal);
    return promise;
  }

  /** Forgets all counts: they belong to another view. */
  clear(): void {
    for (const count of this.all.values()) if (!count.done) count.abort.abort();
    this.all = new Map();
  }

  private waitFor(key: string, count: Count, signal: AbortSignal): void {
    count.waiting++;
    signal.addEventListener("abort", () => {
      if (--count.waiting > 0 || count.done) return;
      count.abort.abort();
      if (this.all.get(key) === count) this.all.delete(key);
    }, { once: true });
  }

  private start(key: string, run: (signal: AbortSignal) => Promise<Stats>): Count {
    const abort = new AbortController();
    const promise = this.turn(abort.signal).then(() => run(abort.signal)
      .finally(() => this.next()));
    const count: Count = { promise, abort, waiting: 0, done: false };
    promise.then(() => (count.done = true), () => {
      count.done = true;
      if (this.all.get(key) === count) this.all.delete(key);
    });
    return count;
  }

  private turn(signal: AbortSignal): Promise<void> {
    if (this.running < atOnce) {
      this.running++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const go = (): void => {
        this.running++;
        resolve();
      };
      this.queue.push(go);
      signal.addEventListener("abort", () => {
        const at = this.queue.indexOf(go);
        if (at < 0) return;
        this.queue.splice(at, 1);
        reject(signal.reason);
      }, { once: true });
    });
  }

  private next(): void {
    this.running--;
    this.queue.shift()?.();
  }
}
