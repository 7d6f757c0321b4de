import { expect, test } from "vitest";
import { randomOf, wholeOf } from "../data/testing";
import { clipPolygon, polygonHas, signedArea, thin, triangulate } from "./triangles";

function areaOf(xy: ArrayLike<number>, triangles: number[]): number {
  let sum = 0;
  for (let i = 0; i < triangles.length; i += 3) {
    const corners = triangles.slice(i, i + 3).flatMap((at) => [xy[2 * at], xy[2 * at + 1]]);
    sum += Math.abs(signedArea(corners));
  }
  return sum;
}

/** Makes a simple polygon: a star around a middle, with radii at random. */
function star(random: () => number, count: number): number[] {
  const xy: number[] = [];
  const turn = random() < 0.5 ? 1 : -1;
  for (let i = 0; i < count; i++) {
    const angle = turn * i / count * 2 * Math.PI;
    const radius = 1 + random() * 9;
    xy.push(20 + radius * Math.cos(angle), 20 + radius * Math.sin(angle));
  }
  return xy;
}

test("the triangles of a simple polygon have its area", () => {
  const random = randomOf(1);
  for (let round = 0; round < 500; round++) {
    const count = 3 + wholeOf(random, 60);
    const xy = star(random, count);
    const triangles = triangulate(xy);
    expect(triangles).toHaveLength(3 * (count - 2));
    expect(areaOf(xy, triangles)).toBeCloseTo(Math.abs(signedArea(xy)), 6);
  }
});

test.each([
  ["nothing", []], ["a point", [1, 1]], ["a line", [0, 0, 1, 1]], ["flat", [0, 0, 1, 1, 2, 2]],
  ["one point thrice", [1, 1, 1, 1, 1, 1]],
])("%s has no triangles", (_, xy) => expect(triangulate(xy)).toEqual([]));

test("repeated points and points on a line", () => {
  const xy = [0, 0, 5, 0, 10, 0, 10, 0, 10, 10, 5, 10, 0, 10, 0, 10];
  expect(areaOf(xy, triangulate(xy))).toBeCloseTo(100);
});

test("polygons that cross themselves end, in time that grows no worse than the square", () => {
  const random = randomOf(2);
  for (let round = 0; round < 300; round++) {
    const xy = Array.from({ length: 2 * wholeOf(random, 60) }, () => wholeOf(random, 10));
    for (const at of triangulate(xy)) expect(at).toBeLessThan(xy.length / 2);
  }
  const large = Array.from({ length: 2000 }, () => random() * 1000);
  const start = performance.now();
  triangulate(large);
  expect(performance.now() - start).toBeLessThan(5000);
});

test("a cut polygon lies in the rectangle, and keeps the area that it had there", () => {
  const random = randomOf(3);
  for (let round = 0; round < 300; round++) {
    const xy = star(random, 3 + wholeOf(random, 20));
    const parts = [[0, 20, 0, 20], [20, 40, 0, 20], [0, 20, 20, 40], [20, 40, 20, 40]];
    let sum = 0;
    for (const [left, right, top, bottom] of parts) {
      const cut = clipPolygon(xy, left, top, right, bottom);
      for (let i = 0; i < cut.length; i += 2) {
        expect(cut[i] >= left - 1e-9 && cut[i] <= right + 1e-9).toBe(true);
        expect(cut[i + 1] >= top - 1e-9 && cut[i + 1] <= bottom + 1e-9).toBe(true);
      }
      sum += Math.abs(signedArea(cut));
    }
    expect(sum).toBeCloseTo(Math.abs(signedArea(xy)), 6);
  }
  expect(clipPolygon([50, 50, 60, 50, 60, 60], 0, 0, 10, 10).length).toBe(0);
});

test("thinning keeps the ends of large polygons", () => {
  const xy = Float64Array.from({ length: 10_000 }, (_, i) => i);
  expect(thin(xy, 10)).toHaveLength(20);
  expect(thin(xy, 10)[0]).toBe(0);
  expect(thin(xy, 5000)).toBe(xy);
});

test("points in polygons", () => {
  const square = [0, 0, 10, 0, 10, 10, 0, 10];
  expect([polygonHas(square, 5, 5), polygonHas(square, 15, 5), polygonHas([], 0, 0)])
    .toEqual([true, false, false]);
});
