import { expect, test } from "vitest";
import { fit, inPolygon, nearest, neighbours, within, zoomed } from "./scattermath";

const points = { x: new Float32Array([0, 10, 10, 0]), y: new Float32Array([0, 0, 10, 10]) };

test.each([
  [5, 5, true], [-1, 5, false], [11, 5, false], [5, -1, false], [NaN, 5, false],
])("%d, %d in a square: %s", (x, y, inside) => {
  expect(inPolygon(x, y, [0, 0, 10, 0, 10, 10, 0, 10])).toBe(inside);
});

test("the notch of a polygon is outside, and two points hold nothing", () => {
  const notch = [0, 0, 10, 0, 10, 10, 5, 2, 0, 10];
  expect([inPolygon(5, 5, notch), inPolygon(5, 1, notch), inPolygon(1, 5, notch)]).toEqual([false, true, true]);
  expect(inPolygon(5, 5, [0, 0, 10, 10])).toBe(false);
});

test("all points are in sight, and y grows upwards", () => {
  const camera = fit(points, 200, 100);
  expect(camera.scale).toBeCloseTo(9);
  expect([0 * camera.scale + camera.dx, camera.dy - 0 * camera.scale]).toEqual([55, 95]);
  expect(fit({ x: new Float32Array(), y: new Float32Array() }, 20, 10)).toEqual({ scale: 1, dx: 10, dy: 5 });
  expect(Number.isFinite(fit({ x: new Float32Array(3), y: new Float32Array(3) }, 20, 10).scale)).toBe(true);
});

test("zoom keeps the place under the pointer", () => {
  const camera = { scale: 2, dx: 7, dy: 90 };
  const closer = zoomed(camera, 3, 40, 30);
  const x = (40 - camera.dx) / camera.scale;
  expect(x * closer.scale + closer.dx).toBeCloseTo(40);
  expect(zoomed(camera, 1e300, 0, 0).scale).toBe(1e25);
});

test("a lasso", () => {
  const camera = fit(points, 200, 100);
  expect(within(points, camera, [0, 0, 100, 0, 100, 100, 0, 100])).toEqual([0, 3]);
});

test("picking", () => {
  const camera = fit(points, 200, 100);
  expect(nearest(points, camera, 57, 93, 5)).toBe(0);
  expect(nearest(points, camera, 100, 50, 5)).toBe(-1);
  expect(neighbours(points, 1, 1)).toEqual([1]);
  expect(neighbours(points, 1, 3)).toEqual([1, 0, 2]);
  expect(neighbours({ x: new Float32Array(3), y: new Float32Array(3) }, 2, 2)).toEqual([2, 0]);
});
