import { expect, test } from "vitest";
import type { Stats } from "../../data/protocol";
import { Counts } from "./counts";

const stats = { rows: 1, missing: 0, kind: "none", what: "" } as Stats;

/** Requests that end on command. */
function fake() {
  const asked = new Map<string, { signal: AbortSignal; answer: (stats: Stats) => void }>();
  const counts = new Counts((name, signal) => new Promise((answer, reject) => {
    asked.set(name, { signal, answer });
    signal.addEventListener("abort", () => reject(signal.reason));
  }));
  return { asked, counts };
}
const turns = () => new Promise((go) => setTimeout(go));

test("two requests run at once, and others follow", async () => {
  const { asked, counts } = fake();
  const all = ["a", "b", "c"].map((name) => counts.get(name, new AbortController().signal));
  await turns();
  expect([...asked.keys()]).toEqual(["a", "b"]);
  asked.get("a")?.answer(stats);
  await all[0];
  await turns();
  expect([...asked.keys()]).toEqual(["a", "b", "c"]);
});

test("a request ends with the last one who waits, and may be made again", async () => {
  const { asked, counts } = fake();
  const first = new AbortController();
  const second = new AbortController();
  const one = counts.get("a", first.signal).catch(() => "ended");
  expect(counts.get("a", second.signal)).toBeInstanceOf(Promise);
  await turns();
  first.abort();
  expect(asked.get("a")?.signal.aborted).toBe(false);
  second.abort();
  expect(asked.get("a")?.signal.aborted).toBe(true);
  expect(await one).toBe("ended");
  asked.clear();
  const again = counts.get("a");
  await turns();
  asked.get("a")?.answer(stats);
  expect(await again).toBe(stats);
});

test("one that waits for its turn is not sent once nobody wants it", async () => {
  const { asked, counts } = fake();
  void counts.get("a");
  void counts.get("b");
  const gone = new AbortController();
  const third = counts.get("c", gone.signal).catch(() => "ended");
  gone.abort();
  expect(await third).toBe("ended");
  await turns();
  asked.get("a")?.answer(stats);
  await turns();
  expect(asked.has("c")).toBe(false);
});

test("a sample and all rows are two requests", async () => {
  const samples: number[] = [];
  const counts = new Counts((_, __, sample) => {
    samples.push(sample);
    return Promise.resolve(stats);
  });
  await Promise.all([counts.get("a", undefined, 100), counts.get("a"), counts.get("a")]);
  expect(samples).toEqual([100, 0]);
});
