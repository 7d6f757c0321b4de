// Repeats requests that do not reach the server, until it responds or they are no longer wanted.

import { ApiError } from "../../data/errors";

export interface ConnectionEvents {
  /**
   * The time of the next attempt, Infinity: there is none; null: the server responds. `reason`: it
   * responds, and refuses all requests for a cause that the user can remove.
   */
  offline(retryAt: number | null, reason: string): void;
  /** The server refuses the token. */
  refused(): void;
}

const firstWait = 500;
const lastWait = 15_000;
/** Attempts before the page waits for the user: about 45 seconds. */
const mostTries = 8;

export class Connection {
  private waiting = new Set<() => void>();
  private tries = 0;
  private retryAt = 0;
  private down = false;
  /** Why requests would fail until the user acts; "": they may succeed. */
  private reason = "";

  constructor(private readonly events: ConnectionEvents,
    private readonly now: () => number = () => Date.now()) {}

  async call<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // Scrolling sends nothing to a server that does not respond: requests await the next attempt.
    if (this.down) await this.pause(signal);
    for (;;) {
      try {
        const result = await task();
        this.responded();
        return result;
      } catch (error) {
        if (signal?.aborted) throw error;
        const reason = error instanceof ApiError ? error.reason : "";
        if (reason === "" && !isUnreachable(error)) {
          if (error instanceof ApiError && error.status > 0) this.responded();
          if (isRefusal(error)) this.events.refused();
          throw error;
        }
        if (reason === "") this.lost();
        else this.halt(reason);
        await this.pause(signal);
      }
    }
  }

  /** Repeats waiting requests at once. Afterwards they wait for the user again. */
  retryNow(): void {
    this.retryAt = 0;
    this.reason = "";
    for (const wake of [...this.waiting]) wake();
  }

  private responded(): void {
    // A server without ranges still responds to some requests. The banner stays.
    if (!this.down || this.reason !== "") return;
    this.down = false;
    this.tries = 0;
    this.retryAt = 0;
    this.events.offline(null, "");
    this.retryNow();
  }

  /** Stops all requests, which would fail in the same way. */
  private halt(reason: string): void {
    this.down = true;
    if (this.reason === reason) return;
    this.reason = reason;
    this.retryAt = Infinity;
    this.events.offline(Infinity, reason);
  }

  private lost(): void {
    this.down = true;
    if (this.reason !== "") return;
    // Requests that fail together count as one attempt.
    if (this.now() < this.retryAt) return;
    this.tries++;
    const wait = Math.min(lastWait, firstWait * 2 ** (this.tries - 1));
    this.retryAt = this.tries < mostTries ? this.now() + wait : Infinity;
    this.events.offline(this.retryAt, "");
  }

  private pause(signal?: AbortSignal): Promise<void> {
    const wait = Math.max(0, this.retryAt - this.now());
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        signal?.removeEventListener("abort", cancel);
      };
      const wake = (): void => {
        end();
        resolve();
      };
      const cancel = (): void => {
        end();
        reject(signal?.reason);
      };
      const timer = wait === Infinity ? undefined : setTimeout(wake, wait);
      this.waiting.add(wake);
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }
}

/** The statuses of gateways for a server that does not respond. */
const gone: ReadonlySet<number> = new Set([502, 503, 504]);

export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && (error.kind === "unreachable" || gone.has(error.status));
}

export function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}
