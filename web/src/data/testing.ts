// Helpers of tests: numbers from a seed, and the writer of record streams.

import type { Header, Tensor, View } from "./protocol";

/** Returns a source of numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = (t + Math.imul(t ^ t >>> 7, 61 | t)) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

export function wholeOf(random: () => number, below: number): number {
  return Math.floor(random() * below);
}

/** Returns the bytes of one record. */
export function encodeRecord(header: Header | { end: true }, body = new Uint8Array(0)): Uint8Array<ArrayBuffer> {
  let text = JSON.stringify(header);
  let json = new TextEncoder().encode(text);
  text += " ".repeat((8 - json.length % 8) % 8);
  json = new TextEncoder().encode(text);
  const padded = body.length + (8 - body.length % 8) % 8;
  const bytes = new Uint8Array(16 + json.length + padded);
  const view = new DataView(bytes.buffer);
  bytes.set([0x44, 0x4c, 0x53, 0x31]);
  view.setUint32(4, json.length, true);
  view.setUint32(8, body.length, true);
  bytes.set(json, 16);
  bytes.set(body, 16 + json.length);
  return bytes;
}

export function concat(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function tensorOf(name: string, draw: Tensor["draw"], more: Partial<Tensor> = {}): Tensor {
  const slash = name.lastIndexOf("/");
  return {
    name, group: slash < 0 ? "" : name.slice(0, slash), htype: draw, sequence: false, list: false,
    dtype: null, shape: null, min_shape: null, max_shape: null, class_names: [], info: {},
    computed: false, role: "side", over: "", draw, ...more,
  };
}

export function viewOf(rows: number, tensors: Tensor[]): View {
  return {
    view: "v1", uri: "mem://test", rows, branch: "main", commit: "c", version: 1, message: "",
    time: "", tensors,
  };
}
