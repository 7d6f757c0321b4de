import { expect, test, vi } from "vitest";
import type { FromWorker, ToWorker } from "./messages";
import { type Port, WorkerCalls } from "./reader";

vi.mock("./worker?worker&url", () => ({ default: "worker.js" }));

function start(): { calls: WorkerCalls; sent: ToWorker[]; answer: (message: FromWorker) => void } {
  const sent: ToWorker[] = [];
  const port: Port = { postMessage: (message) => void sent.push(message), onmessage: null, onerror: null };
  const calls = new WorkerCalls(port);
  return { calls, sent, answer: (message) => port.onmessage?.({ data: message } as MessageEvent<FromWorker>) };
}

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

test("an answer comes in parts, and calls do not mix", async () => {
  const { calls, sent, answer } = start();
  const [first, second] = [calls.call("open", "{}"), calls.call("words", "[]")];
  expect(sent).toEqual([{ kind: "call", id: 1, name: "open", body: "{}" }, { kind: "call", id: 2, name: "words", body: "[]" }]);
  answer({ kind: "begin", id: 2, media: "application/json" });
  answer({ kind: "begin", id: 1, media: "text/x" });
  answer({ kind: "data", id: 1, bytes: bytes("ab") });
  answer({ kind: "data", id: 2, bytes: bytes("7") });
  answer({ kind: "data", id: 1, bytes: bytes("c") });
  answer({ kind: "end", id: 1 });
  answer({ kind: "end", id: 2 });
  expect(await (await first).text()).toBe("abc");
  expect(await (await second).json()).toBe(7);
});

test("a refusal keeps its status", async () => {
  const { calls, answer } = start();
  const asked = calls.call("open", "{}");
  answer({ kind: "refused", id: 1, status: 404, text: '{"error": {}}' });
  expect((await asked).status).toBe(404);
});

test("an abort cancels the call, before and within its answer", async () => {
  const { calls, sent, answer } = start();
  const control = new AbortController();
  const before = calls.call("query", "{}", control.signal);
  const within = calls.call("samples", "{}", control.signal);
  answer({ kind: "begin", id: 2, media: "x" });
  const text = (await within).text();
  control.abort(new Error("away"));
  await expect(before).rejects.toThrow("away");
  await expect(text).rejects.toThrow("away");
  expect(sent.slice(2)).toEqual([{ kind: "cancel", id: 1 }, { kind: "cancel", id: 2 }]);
  await expect(calls.call("words", "{}", control.signal)).rejects.toThrow("away");
});

test("the end of the reader refuses all calls", async () => {
  const { calls, answer } = start();
  const asked = calls.call("open", "{}");
  answer({ kind: "failed", message: "no memory" });
  for (const response of [await asked, await calls.call("words", "{}")]) {
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: { kind: "internal", message: "no memory" } });
  }
});
