import { expect, test } from "vitest";
import { Client, type Fetch, memoryTokens } from "./client";
import { ApiError } from "./errors";
import type { SampleRecord } from "./records";
import { concat, encodeRecord, viewOf } from "./testing";

interface Call {
  url: string;
  init: Parameters<Fetch>[1];
}

function clientOf(answer: () => Response | Promise<Response>, base = "", token: string | null = "t"):
  { client: Client; calls: Call[] } {
  const calls: Call[] = [];
  const client = new Client(base, {
    tokens: memoryTokens(token),
    fetch: async (url, init) => {
      calls.push({ url, init });
      return answer();
    },
  });
  return { client, calls };
}

const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status });

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(() => undefined, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

test("enter keeps the token, and later requests carry it", async () => {
  const { client, calls } = clientOf(() => json({ token: "secret", ...viewOf(3, []) }), "", null);
  expect(client.entered).toBe(false);
  await client.enter("key");
  await client.open();
  expect(client.entered).toBe(true);
  expect(calls[0].init.headers).not.toHaveProperty("Authorization");
  expect(calls[1].init.headers).toHaveProperty("Authorization", "Bearer secret");
  expect(calls.map(({ url }) => url)).toEqual(["api/enter", "api/open"]);
  expect(JSON.parse(calls[0].init.body)).toEqual({ key: "key" });
});

test.each([["", "api/words"], ["http://h/p", "http://h/p/api/words"], ["../x/", "../x/api/words"]])(
  "base %j", async (base, url) => {
    const { client, calls } = clientOf(() => json({ keywords: ["SELECT", 3], functions: null }), base);
    expect(await client.words()).toEqual({ keywords: ["SELECT", "3"], functions: [] });
    expect(calls[0].url).toBe(url);
  });

test("an error carries kind, message and position", async () => {
  const error = { kind: "invalid", message: "no column x", position: 7, line: 1, column: 8 };
  const { client } = clientOf(() => json({ error }, 400));
  const found = await errorOf(client.query("v", "SELECT x"));
  expect(found).toMatchObject({ ...error, status: 400, unknownView: false });
});

test("an unknown view is told from other things that are not found", async () => {
  const error = { kind: "not found", message: "no such view" };
  const { client } = clientOf(() => json({ error }, 404));
  const lost: string[] = [];
  client.onUnknownView = (view) => lost.push(view);
  expect((await errorOf(client.stats("v9", "x"))).unknownView).toBe(true);
  expect((await errorOf(client.samples({ view: "v8", rows: [], columns: [] }, () => undefined)))
    .unknownView).toBe(true);
  expect((await errorOf(client.open({ at: "nowhere" }))).unknownView).toBe(false);
  expect(lost).toEqual(["v9", "v8"]);
});

test.each([
  ["not JSON", new Response("<html>", { status: 502 }), "internal", "status 502"],
  ["a list", json([], 500), "internal", "status 500"],
  ["null", json(null, 500), "internal", "status 500"],
  ["error as text", json({ error: "no" }, 403), "internal", "status 403"],
])("a refusal that is %s", async (_, response, kind, message) => {
  const error = await errorOf(clientOf(() => response).client.words());
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(message);
});

test("a server that is not there", async () => {
  const { client } = clientOf(() => Promise.reject(new TypeError("failed to fetch")));
  expect(await errorOf(client.versions())).toMatchObject({ kind: "unreachable", status: 0 });
});

test("an abort stays an abort", async () => {
  const abort = new AbortController();
  const { client } = clientOf(() => {
    abort.abort();
    return Promise.reject(abort.signal.reason as Error);
  });
  await expect(client.words(abort.signal)).rejects.toMatchObject({ name: "AbortError" });
});

test.each([
  [{}], [{ view: "v" }], [{ view: "v", rows: -1 }], [{ view: "v", rows: 1e300 }],
  [{ view: 3, rows: 1 }],
])("a view that cannot be: %j", async (answer) => {
  expect((await errorOf(clientOf(() => json(answer)).client.open())).kind).toBe("corrupt");
});

test("tensors of a view are made whole", async () => {
  const tensors = [{ name: "a", draw: "<script>", class_names: [1, null] }, null, { name: 3 }];
  const view = await clientOf(() => json({ view: "v", rows: 2, tensors })).client.open();
  expect(view.tensors).toHaveLength(1);
  expect(view.tensors[0]).toMatchObject({
    name: "a", draw: "array", class_names: ["1", "null"], info: {}, group: "", over: "",
  });
});

test("an error that every sample has ends the request", async () => {
  const error = { row: 1, index: 1, column: "x", kind: "error", message: "whole", reason: "no ranges" } as const;
  const got: SampleRecord[] = [];
  const { client } = clientOf(() => new Response(concat([encodeRecord({ ...error, reason: "" }), encodeRecord(error)])));
  const failed = await errorOf(client.samples({ view: "v", rows: [1], columns: [{ name: "x" }] }, (one) => got.push(one)));
  expect(failed).toMatchObject({ message: "whole", kind: "unsupported", reason: "no ranges" });
  expect(got).toHaveLength(1);
  const refused = clientOf(() => json({ error: { kind: "unsupported", message: "whole", reason: "no ranges" } }, 400));
  expect((await errorOf(refused.client.stats("v", "x"))).reason).toBe("no ranges");
});

test("samples are handed on as they come, and a broken answer is an error", async () => {
  const record = encodeRecord({ row: 1, index: 5, column: "x", kind: "text" }, Uint8Array.of(65));
  const end = encodeRecord({ end: true });
  const got: SampleRecord[] = [];
  const request = { view: "v", rows: [1], columns: [{ name: "x" }] };
  await clientOf(() => new Response(concat([record, end]))).client
    .samples(request, (one) => got.push(one));
  expect(got.map(({ header }) => header.index)).toEqual([5]);
  const cut = await errorOf(clientOf(() => new Response(record)).client
    .samples(request, (one) => got.push(one)));
  expect(cut.message).toContain("cut off");
  expect(got).toHaveLength(2);
  const empty = clientOf(() => new Response(null)).client;
  expect((await errorOf(empty.samples(request, () => undefined))).message).toContain("cut off");
});

test("the address of a video is one of the server, and nothing else", async () => {
  const video = { url: "api/video/Ab-_9", frames: 3, bytes: 9, codec: "vp9" };
  const { client, calls } = clientOf(() => json(video), "http://h/p");
  expect(await client.video("v1", 2, "film")).toEqual({ ...video, url: "http://h/p/api/video/Ab-_9" });
  expect(JSON.parse(calls[0].init.body)).toEqual({ view: "v1", row: 2, column: "film" });
  for (const url of ["http://evil/api/video/x", "//evil/x", "api/video/../words", "javascript:alert(1)", "api/video/", undefined]) {
    const of = clientOf(() => json({ ...video, url })).client;
    expect((await errorOf(of.video("v1", 2, "film"))).kind).toBe("corrupt");
  }
  for (const [message, unknownView] of [['no view "v1"; open it again', true], ['read video "x", row 2: the row has no video', false]] as const) {
    const gone = clientOf(() => json({ error: { kind: "not found", message } }, 404)).client;
    expect(await errorOf(gone.video("v1", 2, "film"))).toMatchObject({ unknownView });
    expect(await errorOf(gone.times("v1", 2, "film", 0))).toMatchObject({ unknownView });
  }
  const table = { first: 2, frames: 9, width: 32, height: 16, duration: 3 };
  expect(await clientOf(() => json({ ...table, times: [0.5, "x", 1] })).client.times("v1", 2, "film", 0.5)).toEqual({ ...table, times: [0.5, 1] });
  for (const bad of [{ first: -1 }, { frames: 1e300 }, { width: 0.5 }, { height: "9" }, { duration: null }]) {
    expect((await errorOf(clientOf(() => json({ ...table, times: [], ...bad })).client.times("v1", 2, "film", 0))).kind).toBe("corrupt");
  }
});
