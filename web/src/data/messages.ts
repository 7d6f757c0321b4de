// The messages between the page and its worker.

import type { ReaderConfig } from "./config";

export type ToWorker =
  | { kind: "open"; glue: string; wasm: string; config: ReaderConfig }
  | { kind: "call"; id: number; name: string; body: string }
  | { kind: "cancel"; id: number };

export type FromWorker =
  | { kind: "begin"; id: number; media: string }
  | { kind: "data"; id: number; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "end"; id: number }
  /** The response of PROTOCOL.md to a call that failed. */
  | { kind: "refused"; id: number; status: number; text: string }
  /** The reader cannot start, or has ended. */
  | { kind: "failed"; message: string };
