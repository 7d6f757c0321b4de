import { expect, test } from "vitest";
import { covers, shiftOf } from "./layer";

const margin = { left: 20, top: 10 };
const size = { width: 140, height: 120 }; // of a window of 100 x 100

test("a layer lies around the window that it was drawn for", () => {
  const view = { scale: 2, x: 7, y: -3 };
  const shift = shiftOf(view, view, margin.left, margin.top);
  expect(shift).toEqual({ scale: 1, x: -20, y: -10 });
  expect(covers(shift, size, 100, 100)).toBe(true);
});

test.each([
  [{ scale: 2, x: 27, y: -3 }, true],
  [{ scale: 2, x: 28, y: -3 }, false],
  [{ scale: 2, x: -13, y: 7 }, true],
  [{ scale: 2, x: -14, y: -3 }, false],
  [{ scale: 2, x: 7, y: -13 }, true],
  [{ scale: 2, x: 7, y: -14 }, false],
])("a layer covers the view %j: %s", (to, covered) => {
  const shift = shiftOf({ scale: 2, x: 7, y: -3 }, to, margin.left, margin.top);
  expect(covers(shift, size, 100, 100)).toBe(covered);
});

test("a point of the world stays under its picture at every scale", () => {
  const from = { scale: 2, x: 7, y: -3 };
  for (const to of [{ scale: 3, x: -11, y: 5 }, { scale: 0.5, x: 40, y: 1 }]) {
    const shift = shiftOf(from, to, margin.left, margin.top);
    for (const [x, y] of [[0, 0], [13, 29], [-5, 8]]) {
      const texel = { x: from.scale * x + from.x + margin.left, y: from.scale * y + from.y + margin.top };
      expect(shift.x + texel.x * shift.scale).toBeCloseTo(to.scale * x + to.x, 9);
      expect(shift.y + texel.y * shift.scale).toBeCloseTo(to.scale * y + to.y, 9);
    }
  }
});
