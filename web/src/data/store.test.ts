import { expect, test } from "vitest";
import type { SamplesRequest } from "./client";
import type { Header, Tensor } from "./protocol";
import type { SampleRecord } from "./records";
import type { Sample, SampleStore, Want } from "./samples";
import { openStore } from "./store";
import { randomOf, tensorOf, viewOf, wholeOf } from "./testing";

interface Call {
  request: SamplesRequest;
  signal: AbortSignal;
  send(header: Partial<Header>, body?: Uint8Array<ArrayBuffer>): void;
  end(): void;
  fail(error: Error): void;
}

interface Bitmap extends ImageBitmap {
  closed: boolean;
}

function bitmapOf(width: number, height: number): Bitmap {
  return { width, height, closed: false, close() { this.closed = true; } };
}

class Rig {
  calls: Call[] = [];
  time = 0;
  bitmaps: Bitmap[] = [];
  notified = 0;
  private timers: { at: number; run: () => void }[] = [];
  readonly store: SampleStore;

  constructor(tensors: Tensor[], bytes?: number, rows = 1_000_000) {
    const samples = (request: SamplesRequest, onRecord: (record: SampleRecord) => void,
      signal?: AbortSignal): Promise<void> => new Promise((resolve, reject) => {
      if (!signal) throw new Error("no signal");
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      this.calls.push({
        request, signal, end: resolve, fail: reject,
        send: (header, body = new Uint8Array(0)) => onRecord({
          header: { row: 0, index: 0, column: "images", kind: "file", media: "image/jpeg", ...header },
          body,
        }),
      });
    });
    this.store = openStore({ samples }, viewOf(rows, tensors), {
      ...(bytes === undefined ? {} : { bytes }),
      now: () => this.time,
      after: (wait, run) => {
        const timer = { at: this.time + wait, run };
        this.timers.push(timer);
        return () => void (this.timers = this.timers.filter((one) => one !== timer));
      },
      decode: (_, __, side) => {
        const bitmap = bitmapOf(side || 1000, (side || 1000) / 2);
        this.bitmaps.push(bitmap);
        return Promise.resolve(bitmap);
      },
    });
    this.store.subscribe(() => this.notified++);
  }

  want(rows: number[], pixels: number, names = ["images"], owner = "grid"): void {
    this.store.want([{ rows, columns: names.map((name) => ({ name, pixels })) }], owner);
  }

  /** Runs everything that is due. */
  async settle(passed = 0): Promise<void> {
    this.time += passed;
    for (let round = 0; round < 30; round++) {
      const due = this.timers.filter(({ at }) => at <= this.time);
      this.timers = this.timers.filter(({ at }) => at > this.time);
      for (const { run } of due) run();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Responds to a request: each picture is 1000 x 500. */
  async answer(call: Call): Promise<void> {
    for (const row of call.request.rows) {
      for (const { name } of call.request.columns) {
        call.send({ row, index: row + 7, column: name, width: 1000, height: 500 });
      }
    }
    call.end();
    await this.settle();
  }
}

const images = tensorOf("images", "image", { role: "primary" });
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);
const kindOf = (sample: Sample | undefined): string | undefined => sample?.kind;

test("requests of one turn go out together, and answers are kept", async () => {
  const rig = new Rig([images, tensorOf("labels", "label")]);
  rig.want([1, 2], 64, ["images"]);
  rig.want([1, 2, 3], 64, ["images", "labels"]);
  await rig.settle();
  expect(rig.calls.map(({ request }) => request)).toEqual([{
    view: "v1", rows: [1, 2, 3], columns: [{ name: "images", pixels: 64 }, { name: "labels" }],
  }]);
  const [call] = rig.calls;
  for (const row of [1, 2, 3]) {
    call.send({ row, index: row + 7, width: 1000, height: 500 });
    call.send({ row, index: row + 7, column: "labels", kind: "array", dtype: "uint8", shape: [1] },
      Uint8Array.of(row));
  }
  call.end();
  await rig.settle();
  expect(rig.store.peek(2, "images")).toMatchObject({ kind: "picture", width: 1000, height: 500 });
  expect(rig.store.peek(3, "labels")).toMatchObject({ data: Uint8Array.of(3) });
  expect(rig.store.index(3)).toBe(10);
  expect(rig.notified).toBeGreaterThan(0);
  rig.want([1, 2, 3], 64, ["images", "labels"]);
  await rig.settle();
  expect(rig.calls).toHaveLength(1);
});

test("rows in sight go before the rows ahead, in requests of bounded size, at most 4 at a time", async () => {
  const rig = new Rig([images]);
  const columns = [{ name: "images", pixels: 256 }];
  const wants: Want[] = [{ rows: range(0, 100), columns }, { rows: range(100, 200), columns }];
  rig.store.want(wants, "grid");
  await rig.settle();
  expect(rig.calls).toHaveLength(4);
  expect(rig.calls.flatMap(({ request }) => request.rows)).toEqual(range(0, 100));
  await rig.answer(rig.calls[3]);
  expect(rig.calls).toHaveLength(5);
  expect(rig.calls[4].request.rows[0]).toBe(100);
});

test("a larger thumbnail serves; for a larger one the smaller stays until it is there", async () => {
  const rig = new Rig([images]);
  rig.want([5], 128);
  await rig.settle();
  await rig.answer(rig.calls[0]);
  rig.want([5], 64);
  await rig.settle();
  expect(rig.calls).toHaveLength(1);
  rig.want([5], 512);
  await rig.settle();
  expect(rig.calls).toHaveLength(2);
  expect(rig.store.peek(5, "images")).toMatchObject({ bitmap: { width: 128 } });
  await rig.answer(rig.calls[1]);
  expect(rig.store.peek(5, "images")).toMatchObject({ bitmap: { width: 512 } });
  expect(rig.bitmaps.map(({ closed }) => closed)).toEqual([true, false]);
});

test("a thumbnail as large as the picture serves all sizes but the whole sample", async () => {
  const rig = new Rig([images]);
  rig.want([0], 128);
  await rig.settle();
  rig.calls[0].send({ width: 100, height: 50 });
  rig.calls[0].end();
  await rig.settle();
  rig.want([0], 1024);
  await rig.settle();
  expect(rig.calls).toHaveLength(1);
  rig.want([0], 0);
  await rig.settle();
  expect(rig.calls[1].request.columns).toEqual([{ name: "images" }]);
});

test("a request is aborted when all its rows are out of want, and not before", async () => {
  const rig = new Rig([images]);
  rig.want(range(0, 10), 64);
  await rig.settle();
  rig.want(range(9, 20), 64);
  await rig.settle();
  expect(rig.calls[0].signal.aborted).toBe(false);
  rig.want(range(20, 30), 64);
  await rig.settle();
  expect(rig.calls[0].signal.aborted).toBe(true);
  expect(rig.calls[1].signal.aborted).toBe(true);
  rig.want(range(0, 10), 64);
  await rig.settle();
  expect(rig.calls.at(-1)?.request.rows).toEqual(range(0, 10));
  expect(rig.calls.at(-1)?.signal.aborted).toBe(false);
});

test("what is out of sight when it comes is not decoded, and asked for again later", async () => {
  const rig = new Rig([images]);
  rig.want([0, 1], 64);
  await rig.settle();
  rig.want([1], 64);
  await rig.settle();
  await rig.answer(rig.calls[0]);
  expect(rig.bitmaps).toHaveLength(1);
  rig.want([0], 64);
  await rig.settle();
  expect(rig.calls.at(-1)?.request.rows).toEqual([0]);
});

test("what is in sight is never dropped; of the rest the oldest goes first", async () => {
  const one = 64 * 32 * 4 + 256;
  const rig = new Rig([images], 10 * one);
  for (let from = 0; from < 40; from += 4) {
    rig.want(range(from, from + 4), 64);
    await rig.settle();
    await rig.answer(rig.calls.at(-1) as Call);
  }
  const there = range(0, 40).filter((row) => rig.store.peek(row, "images"));
  expect(there.length).toBeLessThanOrEqual(10);
  expect(there.slice(-4)).toEqual(range(36, 40));
  expect(there).toEqual(range(40 - there.length, 40));
  expect(rig.bitmaps.filter(({ closed }) => !closed)).toHaveLength(there.length);
  rig.want(range(100, 120), 64);
  await rig.settle();
  await rig.answer(rig.calls.at(-1) as Call);
  expect(range(100, 120).every((row) => rig.store.peek(row, "images"))).toBe(true);
});

test("a failed request gives errors, and is repeated after a while if it is still wanted", async () => {
  const rig = new Rig([images]);
  rig.want([0, 1], 64);
  await rig.settle();
  rig.calls[0].fail(new Error("connection reset"));
  await rig.settle();
  expect(rig.store.peek(0, "images")).toEqual({ kind: "error", message: "connection reset" });
  expect(rig.calls).toHaveLength(1);
  await rig.settle(999);
  expect(rig.calls).toHaveLength(1);
  await rig.settle(10);
  expect(rig.calls).toHaveLength(2);
  rig.calls[1].fail(new Error("again"));
  await rig.settle();
  await rig.settle(1500);
  expect(rig.calls).toHaveLength(2);
  await rig.settle(600);
  expect(rig.calls).toHaveLength(3);
  rig.store.want([], "grid");
  await rig.settle();
  expect(rig.calls[2].signal.aborted).toBe(true);
  await rig.settle(100_000);
  expect(rig.calls).toHaveLength(3);
  rig.want([0, 1], 64);
  await rig.settle();
  await rig.answer(rig.calls[3]);
  expect(kindOf(rig.store.peek(0, "images"))).toBe("picture");
});

test("a sample that the server leaves out is an error, not an endless loop", async () => {
  const rig = new Rig([images]);
  rig.want([0, 1], 64);
  await rig.settle();
  rig.calls[0].send({ row: 0, width: 9, height: 9 });
  rig.calls[0].send({ row: 77 });
  rig.calls[0].send({ row: 0, column: "unknown" });
  rig.calls[0].end();
  await rig.settle();
  expect(kindOf(rig.store.peek(0, "images"))).toBe("picture");
  expect(rig.store.peek(1, "images")).toMatchObject({ kind: "error" });
  expect(rig.store.peek(77, "images")).toBeUndefined();
  expect(rig.calls).toHaveLength(1);
});

test("an error keeps the picture that is on show", async () => {
  const rig = new Rig([images]);
  rig.want([0], 64);
  await rig.settle();
  await rig.answer(rig.calls[0]);
  rig.want([0], 0);
  await rig.settle();
  rig.calls[1].send({ kind: "error", message: "broken" });
  rig.calls[1].end();
  await rig.settle();
  expect(kindOf(rig.store.peek(0, "images"))).toBe("picture");
  expect(rig.calls).toHaveLength(2);
});

test("a whole sample that is too large leaves the thumbnail, or lets one be asked for", async () => {
  const rig = new Rig([images]);
  rig.want([0], 0);
  await rig.settle();
  rig.calls[0].send({ kind: "large", size: 1e9 });
  rig.calls[0].end();
  await rig.settle();
  expect(rig.store.peek(0, "images")).toEqual({ kind: "large", size: 1e9 });
  rig.want([0], 512);
  await rig.settle();
  await rig.answer(rig.calls[1]);
  expect(kindOf(rig.store.peek(0, "images"))).toBe("picture");
  rig.want([0], 0);
  await rig.settle();
  expect(rig.calls).toHaveLength(2);
});

test("items of a sequence are kept apart", async () => {
  const rig = new Rig([tensorOf("images", "image", { sequence: true })]);
  rig.want([3], 64);
  await rig.settle();
  expect(rig.calls[0].request.columns).toEqual([{ name: "images", pixels: 64 }]);
  rig.calls[0].send({ row: 3, item: 0, items: 5, width: 9, height: 9 });
  rig.calls[0].end();
  await rig.settle();
  expect(rig.store.peek(3, "images")).toMatchObject({ kind: "items", count: 5 });
  rig.store.want([{ rows: [3], columns: [{ name: "images", pixels: 64, items: [2, 4] }] }], "grid");
  await rig.settle();
  expect(rig.calls[1].request.columns[0].items).toEqual([2, 4]);
  for (const item of [3, 2]) rig.calls[1].send({ row: 3, item, items: 5, width: 9, height: 9 });
  rig.calls[1].end();
  await rig.settle();
  const joined = rig.store.peek(3, "images");
  if (joined?.kind !== "items") throw new Error("no items");
  expect([0, 1, 2, 3, 4].map((item) => kindOf(joined.items[item])))
    .toEqual(["picture", undefined, "picture", "picture", undefined]);
});

test("an empty sequence, and one whose items lie behind its end", async () => {
  const rig = new Rig([tensorOf("images", "image", { sequence: true })]);
  rig.store.want([{ rows: [0, 1], columns: [{ name: "images", pixels: 64, items: [7, 8] }] }], "grid");
  await rig.settle();
  rig.calls[0].send({ row: 0, kind: "array", items: 0 });
  rig.calls[0].send({ row: 1, kind: "array", items: 3 });
  rig.calls[0].end();
  await rig.settle();
  expect(rig.store.peek(0, "images")).toEqual({ kind: "items", count: 0, items: [] });
  expect(rig.store.peek(1, "images")).toEqual({ kind: "items", count: 3, items: [] });
  expect(rig.calls).toHaveLength(1);
});

test("a list is one sample once all items came", async () => {
  const rig = new Rig([tensorOf("images", "polygons", { list: true })]);
  rig.want([0, 1, 2], 64);
  await rig.settle();
  expect(rig.calls[0].request.columns).toEqual([{ name: "images", items: [0, 1_000_000] }]);
  const item = { kind: "array", dtype: "uint8", shape: [1, 2] } as const;
  rig.calls[0].send({ row: 0, item: 1, items: 2, ...item, shape: [1, 2] }, Uint8Array.of(3, 4));
  await rig.settle();
  expect(rig.store.peek(0, "images")).toBeUndefined();
  rig.calls[0].send({ row: 0, item: 0, items: 2, ...item, shape: [1, 2] }, Uint8Array.of(1, 2));
  rig.calls[0].send({ row: 1, kind: "array", items: 0 });
  rig.calls[0].send({ row: 2, kind: "missing" });
  rig.calls[0].end();
  await rig.settle();
  const list = rig.store.peek(0, "images");
  expect(list).toMatchObject({ kind: "items", count: 2 });
  expect(list?.kind === "items" && list.items[0]).toMatchObject({ data: Uint8Array.of(1, 2) });
  expect(rig.store.peek(1, "images")).toEqual({ kind: "items", count: 0, items: [] });
  expect(rig.store.peek(2, "images")).toEqual({ kind: "missing" });
});

test("load waits for the whole sample, and its bitmap is not closed", async () => {
  const rig = new Rig([images], 1);
  const loaded = rig.store.load(4, "images");
  await rig.settle();
  expect(rig.calls[0].request).toMatchObject({ rows: [4], columns: [{ name: "images" }] });
  await rig.answer(rig.calls[0]);
  expect(kindOf(await loaded)).toBe("picture");
  rig.want([9], 64);
  await rig.settle();
  await rig.answer(rig.calls[1]);
  expect(rig.store.peek(4, "images")).toBeUndefined();
  expect(rig.bitmaps[0].closed).toBe(false);
});

test("load ends with an error sample, an abort, or the store", async () => {
  const rig = new Rig([images]);
  const failed = rig.store.load(1, "images");
  await rig.settle();
  rig.calls[0].fail(new Error("no"));
  await rig.settle();
  expect(await failed).toEqual({ kind: "error", message: "no" });
  expect(await rig.store.load(-1, "images")).toMatchObject({ kind: "error" });
  expect(await rig.store.load(1, "nothing")).toMatchObject({ kind: "error" });
  const abort = new AbortController();
  const aborted = rig.store.load(2, "images", abort.signal);
  await rig.settle();
  abort.abort();
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  await rig.settle();
  expect(rig.calls.at(-1)?.signal.aborted).toBe(true);
  const open = rig.store.load(3, "images");
  rig.store.close();
  await expect(open).rejects.toMatchObject({ name: "AbortError" });
  await expect(rig.store.load(3, "images")).rejects.toMatchObject({ name: "AbortError" });
});

test("close aborts requests, frees bitmaps and calls nobody", async () => {
  const rig = new Rig([images]);
  rig.want([0], 64);
  await rig.settle();
  await rig.answer(rig.calls[0]);
  rig.want([0, 1], 64);
  await rig.settle();
  const before = rig.notified;
  rig.calls[1].send({ row: 1, width: 9, height: 9 });
  rig.store.close();
  await rig.settle();
  expect(rig.calls[1].signal.aborted).toBe(true);
  expect(rig.bitmaps.every(({ closed }) => closed)).toBe(true);
  expect(rig.notified).toBe(before);
  rig.want([5], 64);
  await rig.settle();
  expect(rig.calls).toHaveLength(2);
});

test("rows and columns that are not there are not asked for", async () => {
  const rig = new Rig([images], undefined, 3);
  rig.want([-1, 0.5, 2, 3, NaN], 64, ["images", "nothing"]);
  await rig.settle();
  expect(rig.calls.map(({ request }) => request.rows)).toEqual([[2]]);
});

test("a seeded walk: at most 4 requests, all wanted rows come, nothing is asked twice at once", async () => {
  const random = randomOf(11);
  const rig = new Rig([images], 200_000);
  const open = new Set<Call>();
  for (let step = 0; step < 150; step++) {
    const from = wholeOf(random, 300);
    rig.want(range(from, from + wholeOf(random, 60)), 64 << wholeOf(random, 2));
    await rig.settle();
    for (const call of open) if (call.signal.aborted) open.delete(call);
    for (const call of rig.calls.splice(0)) if (!call.signal.aborted) open.add(call);
    expect(open.size).toBeLessThanOrEqual(4);
    const [first] = open;
    if (!first || random() < 0.3) continue;
    open.delete(first);
    if (random() < 0.1) first.fail(new Error("lost"));
    else await rig.answer(first);
    await rig.settle(wholeOf(random, 500));
  }
  rig.want(range(10, 40), 64);
  for (let round = 0; round < 20; round++) {
    await rig.settle(70_000);
    for (const call of [...open, ...rig.calls.splice(0)]) {
      if (!call.signal.aborted) await rig.answer(call);
      open.delete(call);
    }
  }
  expect(range(10, 40).map((row) => kindOf(rig.store.peek(row, "images"))))
    .toEqual(range(10, 40).map(() => "picture"));
});
