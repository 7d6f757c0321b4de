import { expect, test } from "vitest";
import { parseProjection, parseValues } from "./points";

function answer(head: object, points: [number, number, number][]): ArrayBuffer {
  const text = JSON.stringify(head).padEnd(120);
  const bytes = new ArrayBuffer(8 + 120 + 12 * points.length);
  const data = new DataView(bytes);
  new Uint8Array(bytes).set(new TextEncoder().encode("DLP1"));
  data.setUint32(4, 120, true);
  new Uint8Array(bytes).set(new TextEncoder().encode(text), 8);
  points.forEach(([x, y, row], i) => {
    data.setFloat32(128 + 12 * i, x, true);
    data.setFloat32(132 + 12 * i, y, true);
    data.setUint32(136 + 12 * i, row, true);
  });
  return bytes;
}

const head = { points: 2, skipped: 1, step: 1, dim: 3, variance: [0.5, 0.25] };

test("a projection", () => {
  const found = parseProjection(answer(head, [[1, 2, 0], [-3, 4, 7]]), 8);
  expect([...found.x, ...found.y, ...found.rows]).toEqual([1, -3, 2, 4, 0, 7]);
  expect(found).toMatchObject({ skipped: 1, step: 1, dim: 3, variance: [0.5, 0.25] });
});

test.each([
  ["no bytes", new ArrayBuffer(0)],
  ["other bytes", new ArrayBuffer(64)],
  ["a head beyond the end", answer(head, []).slice(0, 50)],
  ["points cut off", answer(head, [[1, 2, 0]])],
  ["a row that does not exist", answer(head, [[1, 2, 0], [1, 2, 8]])],
  ["a place that is no number", answer(head, [[1, 2, 0], [NaN, 2, 1]])],
  ["a step of 0", answer({ ...head, step: 0 }, [[1, 2, 0], [1, 2, 1]])],
  ["no head", answer({}, [])],
])("%s", (_, bytes) => expect(() => parseProjection(bytes, 8)).toThrow());

test("values", () => {
  expect([...parseValues(new Float32Array([1, NaN, 3]).buffer, 5, 2)]).toEqual([1, NaN, 3]);
  expect(() => parseValues(new ArrayBuffer(8), 5, 2)).toThrow();
});
