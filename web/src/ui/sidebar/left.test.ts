import { expect, test } from "vitest";
import { secondsLeft, seenNext, type Sight } from "./left";

/** Sights at seconds 1, 2, ... of a count of 1000 rows. */
const sights = (...done: number[]): Sight[] =>
  done.reduce<Sight[]>((seen, rows, i) => seenNext(seen, i + 1, { done: rows, total: 1000 }), []);

test.each([
  [[], undefined], [[100], undefined], [[100, 100], undefined], [[100, 200], 8], [[0, 100, 200], 8],
  [[100, 500], 1], [[500, 999], 1], [[500, 1000], 1],
])("after %j rows %s seconds are left", (done, left) => expect(secondsLeft(sights(...done))).toBe(left));

test("the rate is that of the last seconds", () => {
  const slow = Array.from({ length: 20 }, (_, i) => i);
  const fast = Array.from({ length: 10 }, (_, i) => 100 + 50 * i);
  expect(secondsLeft(sights(...slow, ...fast))).toBe(9);
});

test("another count has an estimate of its own", () => {
  expect(sights(300, 400, 100)).toEqual([{ done: 100, total: 1000, time: 3 }]);
  expect(seenNext(sights(300, 400), 3, { done: 500, total: 2000 })).toEqual([{ done: 500, total: 2000, time: 3 }]);
  expect(seenNext(sights(300, 400), 3, { done: 0, total: 0 })).toEqual([]);
});
