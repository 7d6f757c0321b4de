import { describe, expect, test } from "vitest";
import type { Header } from "./protocol";
import { checkHeader, RecordError, RecordParser, type SampleRecord } from "./records";
import { concat, encodeRecord, randomOf, wholeOf } from "./testing";

function parse(chunks: Uint8Array[]): SampleRecord[] {
  const parser = new RecordParser();
  const records: SampleRecord[] = [];
  for (const chunk of chunks) parser.push(chunk, (record) => records.push(record));
  parser.end();
  return records;
}

function stream(random: () => number, count: number): { bytes: Uint8Array; records: SampleRecord[] } {
  const records: SampleRecord[] = [];
  for (let i = 0; i < count; i++) {
    const body = Uint8Array.from({ length: wholeOf(random, 300) }, () => wholeOf(random, 256));
    const column = "näme/".repeat(wholeOf(random, 4)) + "x";
    const header: Header = { row: wholeOf(random, 1e9), index: i, column, kind: "text" };
    records.push({ header, body });
  }
  const parts = records.map(({ header, body }) => encodeRecord(header, body));
  return { bytes: concat([...parts, encodeRecord({ end: true })]), records };
}

function cutAtRandom(bytes: Uint8Array, random: () => number, longest: number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + wholeOf(random, longest);
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

test("any cutting of the stream gives the same records", () => {
  const random = randomOf(1);
  for (let round = 0; round < 200; round++) {
    const { bytes, records } = stream(random, wholeOf(random, 8));
    const chunks = cutAtRandom(bytes, random, 1 + wholeOf(random, round % 5 === 0 ? 3 : 500) + 1);
    expect(parse(chunks)).toEqual(records);
  }
});

test("a body owns its buffer from the first byte on", () => {
  const { bytes } = stream(randomOf(2), 5);
  for (const { body } of parse([bytes])) {
    expect(body.byteOffset).toBe(0);
    expect(body.buffer.byteLength).toBe(body.length);
  }
});

test("a stream cut off at any byte is an error", () => {
  const { bytes } = stream(randomOf(3), 3);
  for (let end = 0; end < bytes.length; end++) {
    expect(() => parse([bytes.subarray(0, end)])).toThrow("cut off");
  }
});

test("bytes changed at random give records or a RecordError, and nothing else", () => {
  const random = randomOf(4);
  for (let round = 0; round < 2000; round++) {
    const bytes = stream(random, 3).bytes.slice();
    for (let n = 0; n <= round % 3; n++) {
      bytes[wholeOf(random, bytes.length)] = wholeOf(random, 256);
    }
    try {
      parse(cutAtRandom(bytes, random, 100));
    } catch (error) {
      expect(error).toBeInstanceOf(RecordError);
    }
  }
});

function prefix(header: number, body: number, bodyHigh = 0): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  bytes.set([0x44, 0x4c, 0x53, 0x31]);
  view.setUint32(4, header, true);
  view.setUint32(8, body, true);
  view.setUint32(12, bodyHigh, true);
  return bytes;
}

test.each([
  ["magic", Uint8Array.from([0x44, 0x4c, 0x53, 0x32, ...new Array<number>(12).fill(0)]), "DLS1"],
  ["no header", prefix(0, 0), "out of bounds"],
  ["large header", prefix((1 << 20) + 8, 0), "header of 1048584 bytes is out of bounds"],
  ["odd header", prefix(12, 0), "multiple of 8"],
  ["large body", prefix(8, 2 ** 29 + 1), "body of 536870913 bytes is out of bounds"],
  ["huge body", prefix(8, 0, 0xffffffff), "out of bounds"],
])("a forged prefix: %s", (_, bytes, message) => {
  expect(() => parse([bytes])).toThrow(message);
});

test("a header that is not JSON, and a body behind the end", () => {
  expect(() => parse([concat([prefix(8, 0), new Uint8Array(8)])])).toThrow("not JSON");
  expect(() => parse([encodeRecord({ end: true }, new Uint8Array(1))])).toThrow("has a body");
  const end = encodeRecord({ end: true });
  expect(() => parse([concat([end, end])])).toThrow("follow the end");
  expect(() => parse([end, end])).toThrow("follow the end");
});

test("a broken stream stays broken", () => {
  const parser = new RecordParser();
  expect(() => parser.push(new Uint8Array(16), () => undefined)).toThrow(RecordError);
  expect(() => parser.push(encodeRecord({ end: true }), () => undefined)).toThrow(RecordError);
});

test("an announced body takes no memory before it comes", () => {
  const parser = new RecordParser();
  const header = encodeRecord({ row: 0, index: 0, column: "x", kind: "text" });
  const forged = header.slice();
  new DataView(forged.buffer).setUint32(8, 2 ** 29, true);
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 8; i++) new RecordParser().push(forged, () => undefined);
  parser.push(forged, () => undefined);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 << 20);
  expect(() => parser.end()).toThrow("cut off");
});

describe("checkHeader", () => {
  const good = { row: 1, index: 2, column: "x", kind: "array" };
  test.each([
    [good, ""],
    [{ end: true }, ""],
    [{ ...good, shape: [], item: 0, items: 3, size: 2 ** 53 - 1 }, ""],
    [null, "not an object"],
    [[], "not an object"],
    [7, "not an object"],
    [{ end: 1 }, "end"],
    [{ ...good, row: -1 }, "row"],
    [{ ...good, row: 1.5 }, "row"],
    [{ ...good, row: 2 ** 53 }, "row"],
    [{ ...good, index: "0" }, "index"],
    [{ ...good, index: -2 }, "index"],
    [{ ...good, column: undefined }, "column"],
    [{ ...good, kind: "picture" }, "kind"],
    [{ ...good, kind: "toString" }, "kind"],
    [{ ...good, width: -3 }, "width"],
    [{ ...good, items: 1e300 }, "items"],
    [{ ...good, shape: [1, -1] }, "shape"],
    [{ ...good, shape: "12" }, "shape"],
    [{ ...good, shape: new Array<number>(65).fill(1) }, "65 dimensions"],
    [{ ...good, dtype: 3 }, "dtype"],
  ])("%j: %s", (header, problem) => {
    const found = checkHeader(header);
    if (problem === "") expect(found).toBe("");
    else expect(found).toContain(problem);
  });
});
