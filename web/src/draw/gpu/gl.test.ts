import { expect, test } from "vitest";
import { indicesOf, quad, ring, ringArea, vertex, type Pattern } from "./gl";

const size = { width: 20, height: 10 };
const stroke = 2;

/** Returns the corners as the shaders place them. */
function corner(pattern: Pattern, id: number): [number, number] {
  if (pattern === quad) return [(id & 1) * size.width, ((id >> 1) & 1) * size.height];
  const at = (id >> 1) & 3;
  const side = [at === 1 || at === 2 ? 1 : 0, at >= 2 ? 1 : 0];
  const reach = pattern === ringArea ? 0 : ((id & 1) === 0 ? -0.5 : 0.5) * stroke;
  return [side[0] * size.width + (side[0] * 2 - 1) * reach,
    side[1] * size.height + (side[1] * 2 - 1) * reach];
}

function area(pattern: Pattern): number {
  let sum = 0;
  const { triangles } = pattern;
  for (let i = 0; i < triangles.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => corner(pattern, triangles[i + k]));
    sum += Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;
  }
  return sum;
}

test("triangles cover a rectangle once, and an outline without its inside", () => {
  expect(area(quad)).toBe(200);
  expect(area(ringArea)).toBe(200);
  expect(area(ring)).toBe(22 * 12 - 18 * 8);
});

test("each shape has vertices of its own", () => {
  for (const pattern of [quad, ring, ringArea, vertex]) {
    const all = indicesOf(pattern, 3);
    const of = (shape: number): number[] =>
      [...all].slice(shape * pattern.triangles.length, (shape + 1) * pattern.triangles.length);
    expect(all.length).toBe(3 * pattern.triangles.length);
    expect(of(2)).toEqual(of(0).map((at) => at + 2 * pattern.vertices));
    expect(Math.max(...of(0))).toBeLessThan(pattern.vertices);
  }
});
