// Runs the Go core in a worker: core/viz/wasm is the other side. Calls wait until it has started.

import { messageOf } from "./errors";
import type { FromWorker, ToWorker } from "./messages";

interface Core {
  open(config: string): string;
  call(id: number, name: string, body: string,
    to: (kind: string, value?: string | Uint8Array<ArrayBuffer>, status?: number) => void): void;
  cancel(id: number): void;
}

interface GoProgram {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}

const scope = globalThis as unknown as {
  Go: new () => GoProgram;
  deeplake?: Core;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  onmessage: ((event: { data: ToWorker }) => void) | null;
};

let core: Promise<Core> | null = null;

scope.onmessage = ({ data: message }) => {
  if (message.kind === "open") {
    core = start(message);
    core.catch((error: unknown) => fail(messageOf(error)));
    return;
  }
  // The page is told of a failed start once, and refuses its calls itself.
  core?.then((started) => {
    if (message.kind === "cancel") started.cancel(message.id);
    else started.call(message.id, message.name, message.body, respondTo(message.id));
  }, () => undefined);
};

function respondTo(id: number): Parameters<Core["call"]>[3] {
  return (kind, value, status) => {
    if (kind === "data") {
      const bytes = value as Uint8Array<ArrayBuffer>;
      scope.postMessage({ kind, id, bytes }, [bytes.buffer]);
    } else if (kind === "begin") {
      scope.postMessage({ kind, id, media: String(value) });
    } else if (kind === "refused") {
      scope.postMessage({ kind, id, status: status ?? 500, text: String(value) });
    } else {
      scope.postMessage({ kind: "end", id });
    }
  };
}

function fail(message: string): void {
  scope.postMessage({ kind: "failed", message });
}

async function start(message: Extract<ToWorker, { kind: "open" }>): Promise<Core> {
  const module = load(message.wasm);
  await import(/* @vite-ignore */ message.glue);
  const go = new scope.Go();
  const { instance } = await WebAssembly.instantiate(await module, go.importObject);
  go.run(instance).then(
    () => fail("the reader has ended; load the page again"),
    (error: unknown) => fail(`the reader has failed (${String(error)}); load the page again`));
  const started = scope.deeplake;
  if (!started) throw new Error("the reader does not start; export the page again");
  const problem = started.open(JSON.stringify(message.config));
  if (problem !== "") throw new Error(problem);
  return started;
}

/** Fetches the core. It is packed by gzip, since not every server compresses files. */
async function load(address: string): Promise<BufferSource> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the reader cannot be loaded: status ${response.status} for ${address}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  // Some servers say that such a file is encoded; the browser has then unpacked it.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).arrayBuffer();
}
