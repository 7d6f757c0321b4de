import { describe, expect, it } from "vitest";
import { maxBody, RecordError, RecordParser, type SampleRecord } from "./records";

/** A small generator of random numbers with a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function record(header: object, body: Uint8Array): Uint8Array {
  let text = JSON.stringify(header);
  while (new TextEncoder().encode(text).length % 8 !== 0) text += " ";
  const head = new TextEncoder().encode(text);
  const out = new Uint8Array(16 + head.length + Math.ceil(body.length / 8) * 8);
  const view = new DataView(out.buffer);
  out.set(new TextEncoder().encode("DLS1"));
  view.setUint32(4, head.length, true);
  view.setBigUint64(8, BigInt(body.length), true);
  out.set(head, 16);
  out.set(body, 16 + head.length);
  return out;
}

function join(parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

const text = { row: 3, index: 7, column: "caption", kind: "text" };
const end = record({ end: true, row: 0, index: 0, column: "", kind: "" }, new Uint8Array());

function read(stream: Uint8Array, cuts: number[]): SampleRecord[] {
  const got: SampleRecord[] = [];
  const parser = new RecordParser();
  let from = 0;
  for (const to of [...cuts, stream.length]) {
    parser.push(stream.slice(from, to), (one) => got.push(one));
    from = to;
  }
  parser.end();
  return got;
}

describe("RecordParser", () => {
  it("gives the same records however the stream is cut", () => {
    const draw = random(1);
    for (let round = 0; round < 200; round++) {
      const bodies = Array.from({ length: Math.floor(draw() * 5) }, () =>
        Uint8Array.from({ length: Math.floor(draw() * 40) }, () => Math.floor(draw() * 256)));
      const stream = join([...bodies.map((body) => record(text, body)), end]);
      const cuts = Array.from({ length: Math.floor(draw() * 8) }, () => Math.floor(draw() * stream.length)).sort((a, b) => a - b);
      const got = read(stream, cuts);
      expect(got.map((one) => Array.from(one.body))).toEqual(bodies.map((body) => Array.from(body)));
      for (const one of got) expect(one.header).toMatchObject(text);
    }
  });

  it("reports a stream that ends early", () => {
    const stream = join([record(text, Uint8Array.of(1, 2, 3)), end]);
    for (let length = 0; length < stream.length; length++) {
      expect(() => read(stream.slice(0, length), []), `${length} bytes`).toThrow(RecordError);
    }
  });

  it("refuses forged heads before it allocates", () => {
    const forge = (change: (view: DataView) => void): Uint8Array => {
      const stream = join([record(text, new Uint8Array(8)), end]);
      change(new DataView(stream.buffer));
      return stream;
    };
    for (const stream of [
      forge((view) => view.setUint8(0, 1)),
      forge((view) => view.setUint32(4, 0xfffffff8, true)),
      forge((view) => view.setUint32(4, 7, true)),
      forge((view) => view.setBigUint64(8, BigInt(maxBody) + 1n, true)),
      forge((view) => view.setBigUint64(8, 0xffffffffffffffffn, true)),
      record({ row: "x" }, new Uint8Array()),
    ]) expect(() => read(stream, [])).toThrow(RecordError);
  });
});
