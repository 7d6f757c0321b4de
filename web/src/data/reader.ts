// Sends the calls of the client to a worker, for pages without a server. The client sees the
// interface of fetch(): PROTOCOL.md holds for both.

import type { Fetch } from "./client";
import { ConfigError, parseConfig } from "./config";
import type { FromWorker, ToWorker } from "./messages";
import workerAddress from "./worker?worker&url";

/** The part of a worker that this module uses. */
export interface Port {
  postMessage(message: ToWorker): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

interface Pending {
  take(message: Exclude<FromWorker, { kind: "failed" }>): void;
}

/** Calls through one worker. */
export class WorkerCalls {
  private readonly pending = new Map<number, Pending>();
  private last = 0;
  private broken: string | null = null;

  constructor(private readonly port: Port) {
    port.onmessage = ({ data: message }) => {
      if (message.kind === "failed") this.fail(message.message);
      else this.pending.get(message.id)?.take(message);
    };
    port.onerror = (event) => this.fail(`the reader cannot be started (${event.message || "no reason is known"})`);
  }

  /** Calls a function of the API, as fetch() does. */
  call(name: string, body: string, signal?: AbortSignal | null): Promise<Response> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.broken !== null) return Promise.resolve(refusal("internal", this.broken, 500));
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      let stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
      const end = (): void => {
        this.pending.delete(id);
        signal?.removeEventListener("abort", abort);
      };
      const stop = (): void => {
        end();
        this.port.postMessage({ kind: "cancel", id });
      };
      const abort = (): void => {
        stop();
        if (stream) stream.error(signal?.reason);
        else reject(signal?.reason);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.pending.set(id, {
        take(message) {
          switch (message.kind) {
            case "begin":
              resolve(new Response(new ReadableStream({ start: (control) => void (stream = control), cancel: stop }),
                { headers: { "Content-Type": message.media } }));
              break;
            case "data":
              stream?.enqueue(message.bytes);
              break;
            case "end":
              end();
              stream?.close();
              break;
            case "refused":
              end();
              if (stream) stream.error(new TypeError("the reader has ended"));
              else resolve(new Response(message.text, { status: message.status }));
          }
        },
      });
      this.port.postMessage({ kind: "call", id, name, body });
    });
  }

  private fail(message: string): void {
    this.broken ??= message;
    const text = refusalText("internal", this.broken);
    for (const [id, call] of [...this.pending]) call.take({ kind: "refused", id, status: 500, text });
  }
}

function refusalText(kind: string, message: string): string {
  return JSON.stringify({ error: { kind, message } });
}

function refusal(kind: string, message: string, status: number): Response {
  return new Response(refusalText(kind, message), { status });
}

/** Returns a fetch() that reads the dataset which the file at `address` names. */
export function readerFetch(address: string): Fetch {
  let opened: Promise<WorkerCalls> | null = null;
  return async (input, init) => {
    let calls: WorkerCalls;
    try {
      calls = await (opened ??= open(address));
    } catch (error) {
      opened = null;
      if (error instanceof ConfigError) return refusal("invalid", error.message, 400);
      throw error;
    }
    return calls.call(input.slice(input.lastIndexOf("/") + 1), init.body, init.signal);
  };
}

async function open(address: string): Promise<WorkerCalls> {
  const response = await fetch(address, { cache: "no-cache" });
  if (!response.ok) throw new ConfigError(`there is no deeplake.json beside the page (status ${response.status}); export it again`);
  const config = parseConfig(await response.text(), address);
  const beside = (name: string): string => new URL(name, address).href;
  const worker = start(new URL(workerAddress, document.baseURI).href);
  const calls = new WorkerCalls(worker);
  worker.postMessage({
    kind: "open", config, glue: beside("reader/wasm_exec.js"), wasm: beside("reader/deeplake.wasm.gz"),
  });
  return calls;
}

/**
 * Starts a worker from a blob. Such a worker has the content policy of the page, so the core
 * reaches only the places of that policy.
 */
function start(script: string): Worker {
  const code = new Blob([`import ${JSON.stringify(script)};`], { type: "text/javascript" });
  const url = URL.createObjectURL(code);
  const worker = new Worker(url, { type: "module" });
  worker.addEventListener("message", () => URL.revokeObjectURL(url), { once: true });
  return worker;
}
