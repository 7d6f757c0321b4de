import { expect, it, test } from "vitest";
import { frameAt, placeAt, stepFrom } from "./frames";

const times = Array.from({ length: 10 }, (_, i) => i / 10);
const whole = { first: 0, times };
const length = { frames: 10, duration: 1 };

it.each([[-1, -1], [0, 0], [0.05, 0], [0.1, 1], [0.09995, 1], [0.95, 9], [99, 9]])("at %d s: %d", (time, place) =>
  expect(placeAt(times, time)).toBe(place));

it.each([
  [0, 1, 0.15], [0.12, 1, 0.25], [0.35, -1, 0.25], [0.05, -1, 0.05], [0.95, 1, 0.95], [0.85, 1, 0.95], [1, -1, 0.85],
] as const)("from %d s by %d: %d s", (time, by, to) => expect(stepFrom(whole, length, time, by)).toBeCloseTo(to, 9));

test("every frame is reached by steps, in both directions", () => {
  const seen: (number | undefined)[] = [];
  let time = 0;
  for (let i = 0; i < 12; i++) seen.push(frameAt(whole, length, time = stepFrom(whole, length, time, 1) ?? NaN));
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]);
  for (let i = 0; i < 9; i++) time = stepFrom(whole, length, time, -1) ?? NaN;
  expect(frameAt(whole, length, time)).toBe(0);
});

test("times that do not reach a frame are asked for", () => {
  const part = { first: 4, times: times.slice(4, 7) };
  expect(frameAt(part, length, 0.1)).toBeUndefined();
  expect(frameAt(part, length, 0.5)).toBe(5);
  // The last known time may be followed by others.
  expect(frameAt(part, length, 0.65)).toBeUndefined();
  expect(stepFrom(part, length, 0.4, -1)).toBeUndefined();
  expect(stepFrom(part, length, 0.4, 1)).toBeCloseTo(0.55, 9);
  expect(stepFrom(undefined, length, 0, 1)).toBeUndefined();
  expect(stepFrom({ first: 0, times: [] }, length, 0, 1)).toBeUndefined();
});

test("frames of equal times are one", () => {
  const coarse = { first: 0, times: [0, 0.1, 0.1, 0.2] };
  const four = { frames: 4, duration: 0.3 };
  expect(stepFrom(coarse, four, 0, 1)).toBeCloseTo(0.15, 9);
  expect(stepFrom(coarse, four, 0.15, 1)).toBeCloseTo(0.25, 9);
  expect(stepFrom(coarse, four, 0.25, -1)).toBeCloseTo(0.15, 9);
  expect(stepFrom(coarse, four, 0.15, -1)).toBeCloseTo(0.05, 9);
});

test("a frame that stands for minutes is shown from near its begin", () => {
  expect(stepFrom({ first: 0, times: [0, 1] }, { frames: 2, duration: 600 }, 0, 1)).toBe(1.5);
});
