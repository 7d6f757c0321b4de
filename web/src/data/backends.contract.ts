// The contract of the data layer: the same calls and responses of both backends. The test
// python/tests/test_visualizer_contract.py makes the dataset, starts a backend, and runs this file.

import { beforeAll, expect, test, vi } from "vitest";
import { Client, memoryTokens, type SamplesRequest } from "./client";
import { parseConfig } from "./config";
import { ApiError } from "./errors";
import { mediaOf } from "./media";
import type { FromWorker, ToWorker } from "./messages";
import type { Header, View } from "./protocol";
import { type Port, WorkerCalls } from "./reader";
import type { SampleRecord } from "./records";

vi.mock("./worker?worker&url", () => ({ default: "worker.js" }));

/** "server": `address` is a link. "reader": that of an exported page, whose glue is a local
 * file. */
const { VITE_BACKEND: backend, VITE_ADDRESS: address, VITE_GLUE: glue } =
  import.meta.env as unknown as Record<string, string>;

const rows = 12;
const missing = 5;
const slideHeight = 65_536;
const slideWidth = 65_600;

let client: Client;
let view: View;

beforeAll(async () => {
  client = backend === "server" ? await serverClient() : await readerClient();
  view = await client.open();
});

async function serverClient(): Promise<Client> {
  const link = new URL(address);
  const entered = new Client(new URL("/", link), { tokens: memoryTokens() });
  await entered.enter(new URLSearchParams(link.hash.slice(1)).get("key") ?? "");
  return entered;
}

/** The worker of an exported page, in this process. */
async function readerClient(): Promise<Client> {
  const scope = globalThis as unknown as {
    postMessage: (message: FromWorker) => void;
    onmessage: ((event: { data: ToWorker }) => void) | null;
  };
  const port: Port = {
    postMessage: (data) => queueMicrotask(() => scope.onmessage?.({ data })), onmessage: null, onerror: null,
  };
  scope.postMessage = (data) => port.onmessage?.({ data } as MessageEvent<FromWorker>);
  await import("./worker");
  const calls = new WorkerCalls(port);
  const file = new URL("deeplake.json", address).href;
  const config = parseConfig(await (await fetch(file)).text(), file);
  port.postMessage({ kind: "open", config, glue, wasm: new URL("reader/deeplake.wasm.gz", address).href });
  return new Client("", {
    tokens: memoryTokens("none"),
    fetch: (input, init) => calls.call(input.slice(input.lastIndexOf("/") + 1), init.body, init.signal),
  });
}

async function refusal(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(() => undefined, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

/** Reads samples by name, row and item. */
async function read(request: Omit<SamplesRequest, "view">, of = view): Promise<Map<string, SampleRecord>> {
  const found = new Map<string, SampleRecord>();
  await client.samples({ view: of.view, ...request }, (record) => {
    const { column, row, item } = record.header;
    const name = item === undefined ? `${column} ${row}` : `${column} ${row} ${item}`;
    expect(found.has(name)).toBe(false);
    found.set(name, record);
  });
  return found;
}

async function one(column: SamplesRequest["columns"][number], row: number): Promise<SampleRecord> {
  const [record] = (await read({ rows: [row], columns: [column] })).values();
  return record;
}

function headerOf(record: SampleRecord | undefined): Partial<Header> {
  return record?.header ?? {};
}

function bodyOf(record: SampleRecord | undefined): Uint8Array<ArrayBuffer> {
  if (!record) throw new Error("there is no such record");
  return record.body;
}

const textOf = (record: SampleRecord | undefined): string => new TextDecoder().decode(record?.body);
const numbersOf = (body: Uint8Array<ArrayBuffer>, dtype: string | undefined): number[] => {
  switch (dtype) {
    case "float32": return [...new Float32Array(body.buffer)];
    case "float64": return [...new Float64Array(body.buffer)];
    case "uint16": return [...new Uint16Array(body.buffer)];
    case "uint32": return [...new Uint32Array(body.buffer)];
    case "int64": return [...new BigInt64Array(body.buffer)].map(Number);
    default: return [...body];
  }
};

test("a view says what there is", () => {
  expect(view).toMatchObject({ rows, branch: "main", version: expect.any(Number) as number, message: "changed" });
  expect(view.query).toBeUndefined();
  const about = Object.fromEntries(view.tensors.map((t) => [t.name, t]));
  expect(Object.keys(about)).toEqual(["images", "labels", "gt/boxes", "scores", "caption", "meta", "clip", "mask", "vector", "slide", "film"]);
  expect(about.images).toMatchObject({ htype: "image.rgb", draw: "image", role: "primary", dtype: "uint8", computed: false, sequence: false });
  expect(about.labels).toMatchObject({ draw: "label", role: "overlay", over: "images", class_names: ["cat", "dog", "owl's"] });
  expect(about["gt/boxes"]).toMatchObject({ draw: "boxes", group: "gt", boxes: "LTWH", fractional: true, over: "images" });
  expect(about.scores).toMatchObject({ draw: "number", role: "side", dtype: "float64", max_shape: [] });
  expect(about.clip).toMatchObject({ draw: "image", sequence: true });
  expect(about.film).toMatchObject({ htype: "video", draw: "video", role: "primary" });
  expect(view.videos === true).toBe(backend === "server");
  expect(about.slide).toMatchObject({ max_shape: [slideHeight, slideWidth, 1] });
});

test("a version opens by name, and one that is not there is refused", async () => {
  expect(await client.open({ at: "v1" })).toMatchObject({ rows, message: "first" });
  const error = await refusal(client.open({ at: "nowhere" }));
  expect(error).toMatchObject({ kind: "not found", status: 404, unknownView: false });
  expect(error.message).toContain("nowhere");
});

test("a query gives a view, with its computed columns", async () => {
  const dogs = await client.query(view.view, "SELECT * WHERE labels = 'dog'");
  expect(dogs).toMatchObject({ rows: 4, query: "SELECT * WHERE labels = 'dog'" });
  const twice = await client.query(view.view, "SELECT labels, scores * 2 AS twice WHERE scores > 0.55 ORDER BY scores DESC");
  expect(twice.tensors.map(({ name, computed, draw }) => [name, computed, draw])).toEqual([["labels", false, "label"], ["twice", true, "number"]]);
  const found = await read({ rows: [0], columns: [{ name: "twice" }, { name: "labels" }] }, twice);
  expect(numbersOf(bodyOf(found.get("twice 0")), "float64")).toEqual([18]);
  expect(found.get("labels 0")?.header.index).toBe(3);
  expect(await client.explain(view.view, "SELECT * WHERE labels = 'dog'")).toContain("scan");
});

test("a query with a fault is refused with its place", async () => {
  expect(await refusal(client.query(view.view, "SELECT *\nWHERE lables = 1"))).toMatchObject({ kind: "not found", status: 404, position: 15, line: 2, column: 7 });
  expect(await refusal(client.query(view.view, "SELECT * WHERE ("))).toMatchObject({ kind: "invalid", status: 400 });
});

test("a closed view is told from others", async () => {
  const other = await client.query(view.view, "SELECT * LIMIT 3");
  await client.close(other.view);
  expect(await refusal(client.stats(other.view, "labels"))).toMatchObject({ kind: "not found", status: 404, unknownView: true });
  expect((await client.stats(view.view, "labels")).rows).toBe(rows);
});

test("a video is a picture or its size, and as a whole its file", async () => {
  const whole = await one({ name: "film" }, 0);
  expect(whole.header.kind).toBe("file");
  expect(mediaOf(whole.body)).toBe("video/mp4");
  const small = headerOf(await one({ name: "film", pixels: 64 }, 0));
  const facts = { kind: "video", codec: "h264", frames: expect.any(Number) as number, seconds: expect.any(Number) as number };
  expect(small).toMatchObject({ ...(backend === "server" ? facts : { kind: "large" }), size: whole.body.length });
  expect(headerOf(await one({ name: "film", pixels: 64 }, 1)).kind).toBe("missing");
  const call = client.video(view.view, 0, "film");
  if (backend === "reader") {
    expect(await refusal(client.times(view.view, 0, "film", 0))).toMatchObject({ kind: "unsupported", status: 400 });
    expect(await refusal(call)).toMatchObject({ kind: "not found", status: 404 });
    return;
  }
  const { first, times, frames, ...table } = await client.times(view.view, 0, "film", 0);
  expect([first, times.length]).toEqual([0, Math.min(frames, 1 + 256)]);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(await refusal(client.times(view.view, 1, "film", 0))).toMatchObject({ kind: "not found", status: 404 });
  expect(await refusal(client.times(view.view, -1, "film", 0))).toMatchObject({ kind: "range", status: 400 });
  const { url, ...video } = await call;
  expect(video).toMatchObject({ media: "video/mp4", name: "film-0.mp4", codec: "h264", bytes: whole.body.length, frames, ...table });
  const response = await fetch(url, { headers: { Range: "bytes=100-299" } });
  expect(response.status).toBe(206);
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(whole.body.slice(100, 300));
  expect(await client.videoFault(url)).toBeNull();
  expect(await client.videoFault(`${url}x`)).toMatchObject({ kind: "denied", status: 403 });
});

test("samples of each kind", async () => {
  const columns = view.tensors.filter(({ name }) => name !== "slide").map(({ name }) => ({ name }));
  const found = await read({ rows: [missing, 3], columns });
  expect(found.size).toBe(2 * columns.length);
  for (const { header } of found.values()) expect(header.index).toBe(header.row);
  const image = found.get(`images ${missing}`);
  expect(image?.header).toMatchObject({ kind: "file", media: "image/jpeg", width: 60, height: 60 });
  expect([...bodyOf(image).subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff]);
  expect(numbersOf(bodyOf(found.get("labels 3")), headerOf(found.get("labels 3")).dtype)).toEqual([0]);
  expect(headerOf(found.get("gt/boxes 3"))).toMatchObject({ kind: "array", dtype: "float32", shape: [0, 4] });
  expect(headerOf(found.get(`gt/boxes ${missing}`))).toMatchObject({ shape: [2, 4] });
  expect(headerOf(found.get(`scores ${missing}`))).toMatchObject({ kind: "missing" });
  expect(headerOf(found.get("scores 3"))).toMatchObject({ kind: "array", dtype: "float64" });
  expect(headerOf(found.get("scores 3")).shape ?? []).toEqual([]);
  expect(numbersOf(bodyOf(found.get("scores 3")), "float64")).toEqual([9]);
  expect(headerOf(found.get("caption 3")).kind).toBe("text");
  expect(textOf(found.get("caption 3"))).toBe("<b>3</b> ä");
  expect(headerOf(found.get("meta 3")).kind).toBe("json");
  expect(JSON.parse(textOf(found.get("meta 3")))).toEqual({ camera: "c1" });
  expect(headerOf(found.get("clip 3 0"))).toMatchObject({ kind: "file", media: "image/png", item: 0, items: 3 });
  expect(headerOf(found.get("mask 3"))).toMatchObject({ kind: "array", dtype: "bool", shape: [52, 60] });
  expect(new Set(bodyOf(found.get("mask 3")))).toEqual(new Set([1]));
  expect(numbersOf(bodyOf(found.get("vector 3")), "float32")).toEqual([3, 9, 1]);
});

test("items of sequences", async () => {
  const items = async (range: [number, number], row = 3): Promise<string[]> =>
    [...(await read({ rows: [row], columns: [{ name: "clip", items: range }] })).keys()].sort();
  expect(await items([0, 1_000_000])).toEqual(["clip 3 0", "clip 3 1", "clip 3 2"]);
  expect(await items([1, 2])).toEqual(["clip 3 1"]);
  expect(headerOf(await one({ name: "clip" }, 0))).toMatchObject({ kind: "array", items: 0 });
});

test("pictures and masks come as small as cells", async () => {
  const large = await one({ name: "images", pixels: 8 }, 11);
  expect(large.header).toMatchObject({ width: 60, height: 84 });
  // The server makes a file. A page with the core in it gets pixels.
  if (backend === "server") {
    expect(large.header).toMatchObject({ kind: "file", media: "image/jpeg" });
  } else {
    expect(large.header).toMatchObject({ kind: "array", dtype: "uint8" });
    expect(Math.max(...(large.header.shape ?? []))).toBeLessThan(60);
    for (const value of large.body) expect(Math.abs(value - 220)).toBeLessThan(4);
  }
  const mask = await one({ name: "mask", pixels: 10 }, 3);
  expect(mask.header).toMatchObject({ kind: "array", width: 60, height: 52 });
  expect(Math.max(...(mask.header.shape ?? []))).toBeLessThan(20);
});

test("a column that is not there, and rows that are not there, are refused", async () => {
  expect(await refusal(read({ rows: [0], columns: [{ name: "nothing" }] }))).toMatchObject({ kind: "not found", status: 404, unknownView: true });
  expect(await refusal(read({ rows: [rows], columns: [{ name: "labels" }] }))).toMatchObject({ kind: "range", status: 400 });
  expect(await refusal(read({ rows: [0], columns: [{ name: "images", pixels: 5, region: [9, 9, 1, 1] }] }))).toMatchObject({ kind: "invalid", status: 400 });
});

test("statistics", async () => {
  expect(await client.stats(view.view, "labels")).toMatchObject({
    rows, missing: 0, kind: "classes", what: "class", filters: ['"labels" = \'cat\'', '"labels" = \'dog\'', '"labels" = \'owl\'\'s\''],
    classes: [{ value: 0, name: "cat", rows: 4 }, { value: 1, name: "dog", rows: 4 }, { value: 2, name: "owl's", rows: 4 }],
  });
  const exact = await client.stats(view.view, "scores");
  expect(exact).toMatchObject({ rows, missing: 1, kind: "histogram", what: "value", min: 0, max: 9 });
  expect(exact.bins?.reduce((sum, bin) => sum + bin.rows, 0)).toBe(11);
  const about = await client.stats(view.view, "scores", undefined, 6);
  expect(about).toMatchObject({ rows, missing: 1, sampled: 6, min: 0, max: 9, exact: ["missing", "min", "max"] });
  expect(about.bins?.map(({ from, to }) => [from, to])).toEqual(exact.bins?.map(({ from, to }) => [from, to]));
  expect(await client.stats(view.view, "meta")).toMatchObject({ kind: "none" });
  expect(await client.progress(view.view, "scores")).toEqual({ done: 0, total: 0 });
});

test("chosen rows, numbers, and the map of vectors", async () => {
  const chosen = await client.select(view.view, [7, 2]);
  expect(chosen.rows).toBe(2);
  expect((await read({ rows: [0], columns: [{ name: "labels" }] }, chosen)).get("labels 0")?.header.index).toBe(7);
  const values = await client.values(view, "scores", 2);
  expect([...values].map((value) => Math.round(10 * value))).toEqual([0, 2, 4, 6, 8, 10]);
  expect(Number.isNaN((await client.values(view, "scores", missing))[1])).toBe(true);
  const map = await client.project(view, "vector");
  expect(map).toMatchObject({ points: rows, skipped: 0, step: 1, dim: 3 });
  expect([...map.rows]).toEqual(Array.from({ length: rows }, (_, i) => i));
  expect(map.variance[0]).toBeGreaterThan(map.variance[1]);
});

test("versions and their difference", async () => {
  const versions = await client.versions();
  expect(versions.commits.slice(0, 2).map(({ message }) => message)).toEqual(["changed", "first"]);
  // A web server lists nothing.
  expect(versions.tags.map(({ name }) => name)).toEqual(backend === "server" ? ["v1"] : []);
  const diff = await client.diff(versions.commits[1].commit, versions.commits[0].commit);
  expect(diff).toMatchObject({ rows: { added: 0, removed: 0, updated: 1 }, changed: [3], added: [], removed: [] });
});

test("words of the query language", async () => {
  const { keywords, functions } = await client.words();
  expect(keywords).toContain("SELECT");
  expect(functions).toContain("BOX_MATCHES");
});

test("a call that is aborted ends as such", async () => {
  const control = new AbortController();
  const answer = client.stats(view.view, "slide", control.signal);
  control.abort(new Error("away"));
  await expect(answer).rejects.toThrow("away");
  expect((await client.stats(view.view, "labels")).rows).toBe(rows);
});

const dot: [number, number, number, number] = [40_000, 50_000, 40_064, 50_064];

test("of a sample of 4 GB regions come", async () => {
  const exact = await one({ name: "slide", pixels: 64, region: dot }, 0);
  expect(exact.header).toMatchObject({ kind: "array", shape: [64, 64, 1], region: dot, width: slideWidth, height: slideHeight });
  expect(new Set(exact.body)).toEqual(new Set([200]));
  const edge = await one({ name: "slide", pixels: 64, region: [slideHeight - 32, slideWidth - 32, slideHeight + 99, slideWidth + 99] }, 0);
  expect(edge.header.region).toEqual([slideHeight - 32, slideWidth - 32, slideHeight, slideWidth]);
  expect([...edge.body.subarray(-2)]).toEqual([0, 90]);
});

test("a sample of 4 GB is not sent whole", async () => {
  const size = slideHeight * slideWidth;
  expect(size).toBeGreaterThan(2 ** 32);
  for (const column of [{ name: "slide" }, { name: "slide", pixels: 100 }]) {
    const whole = await one(column, 0);
    expect(whole.header).toMatchObject({ kind: "large", size, width: slideWidth, height: slideHeight });
    expect(whole.body.length).toBe(0);
  }
  const all = await one({ name: "slide", pixels: 100, region: [0, 0, slideHeight, slideWidth] }, 0);
  expect(all.header).toMatchObject({ kind: "large", size, width: slideWidth, height: slideHeight });
});
