import { describe, expect, test } from "vitest";
import type { Tensor } from "../data/protocol";
import type { Sample } from "../data/samples";
import { randomOf, tensorOf, wholeOf } from "../data/testing";
import { noClass } from "./colors";
import {
  classesOf, clipSegment, codeOf, labelsFit, type Shapes, shapesOf, skeletonOf,
} from "./shapes";

const size = { width: 200, height: 100 };
const array = (shape: number[], numbers: number[], dtype = "float64"): Sample =>
  ({ kind: "array", dtype, shape, data: Float64Array.from(numbers) });

describe("boxes", () => {
  const boxes = (more: Partial<Tensor>, numbers: number[]): number[] =>
    [...shapesOf(tensorOf("b", "boxes", more), array([numbers.length / 4, 4], numbers), size).boxes];
  test.each([
    ["LTRB", false, [10, 20, 30, 40], [10, 20, 30, 40]],
    ["LTWH", false, [10, 20, 30, 40], [10, 20, 40, 60]],
    ["CCWH", false, [10, 20, 30, 40], [-5, 0, 25, 40]],
    ["LTRB", true, [0.1, 0.2, 0.5, 1], [20, 20, 100, 100]],
    ["LTWH", true, [0.1, 0.2, 0.5, 0.5], [20, 20, 120, 70]],
    ["CCWH", true, [0.5, 0.5, 0.5, 0.5], [50, 25, 150, 75]],
    ["LTRB", false, [30, 40, 10, 20], [10, 20, 30, 40]],
    ["LTWH", false, [10, 10, -4, -6], [6, 4, 10, 10]],
    ["LTRB", false, [5, 5, 5, 5], [5, 5, 5, 5]],
    ["LTRB", false, [NaN, 0, 1, 1], []],
    ["LTRB", false, [0, 0, 1, NaN], []],
    ["LTRB", false, [-Infinity, 0, Infinity, 50], [-1e7, 0, 1e7, 50]],
    ["CCWH", false, [Infinity, 0, Infinity, 1], []],
    ["LTRB", false, [1e300, 0, -1e300, 1], [-1e7, 0, 1e7, 1]],
  ] as const)("%s, fractional %s: %j", (mode, fractional, numbers, corners) => {
    const got = boxes({ boxes: mode, fractional }, [...numbers]);
    expect(got).toHaveLength(corners.length);
    got.forEach((value, i) => expect(value).toBeCloseTo(corners[i], 9));
  });
  test("a broken box leaves the others their instances", () => {
    const numbers = [0, 0, 1, 1, NaN, 0, 1, 1, 2, 2, 3, 3];
    const shapes = shapesOf(tensorOf("b", "boxes"), array([3, 4], numbers), size);
    expect([[...shapes.boxOf], shapes.instances]).toEqual([[0, 2], 3]);
  });
  test("one box without an axis of boxes, and none at all", () => {
    expect(boxes({}, [])).toEqual([]);
    const one = shapesOf(tensorOf("b", "boxes"), array([4], [1, 2, 3, 4]), size);
    expect([...one.boxes]).toEqual([1, 2, 3, 4]);
  });
});

test.each([
  ["boxes", array([2, 3], [1, 2, 3, 4, 5, 6])],
  ["boxes", { kind: "text", text: "x", whole: true }],
  ["points", array([4, 1], [1, 2, 3, 4])],
  ["points", array([], [1])],
  ["keypoints", array([4, 1], [1, 2, 3, 4])],
  ["keypoints", array([3, 1, 2], [1, 2, 3, 4, 5, 6])],
  ["polygons", array([2, 3], [1, 2, 3, 4, 5, 6])],
  ["polygons", { kind: "error", message: "lost" }],
] as [Tensor["draw"], Sample][])("%s of a wrong shape say so", (draw, sample) => {
  const shapes = shapesOf(tensorOf("t", draw), sample, size);
  expect(shapes.problem).not.toBe("");
  expect(shapes.boxOf.length + shapes.points.length + shapes.polygons.length).toBe(0);
});

test("64-bit integers and missing samples", () => {
  const data = BigInt64Array.of(1n, 2n, 3n, 4n);
  const sample: Sample = { kind: "array", dtype: "int64", shape: [1, 4], data };
  expect([...shapesOf(tensorOf("b", "boxes"), sample, size).boxes]).toEqual([1, 2, 3, 4]);
  expect(shapesOf(tensorOf("b", "boxes"), { kind: "missing" }, size).problem).toBe("");
});

test("polygons: items, broken points, holes", () => {
  const items = [
    array([3, 2], [0, 0, 10, 0, 10, 10]), undefined, array([0, 2], []),
    array([3, 2], [NaN, 0, 1, 1, 2, 2]), array([1, 2], [5, 5]),
  ];
  const shapes = shapesOf(tensorOf("p", "polygons"), { kind: "items", count: 5, items }, size);
  expect(shapes.polygons.map(({ instance, xy }) => [instance, xy.length])).toEqual([[0, 6], [3, 4]]);
  expect(shapes.instances).toBe(5);
  const alone = shapesOf(tensorOf("p", "polygons"), array([3, 2], [0, 0, 1, 0, 1, 1]), size);
  expect(alone.polygons).toHaveLength(1);
});

test("a polygon of several parts", () => {
  const sample = array([8, 2], [0, 0, 9, 0, 9, 9, NaN, NaN, 1, 1, 5, 1, 5, 5, NaN, NaN]);
  const { polygons, instances } = shapesOf(tensorOf("p", "polygons"), { kind: "items", count: 1, items: [sample] }, size);
  expect(polygons.map(({ instance, xy }) => [instance, ...xy])).toEqual([[0, 0, 0, 9, 0, 9, 9], [0, 1, 1, 5, 1, 5, 5]]);
  expect(instances).toBe(1);
});

describe("keypoints", () => {
  const sample = array([9, 2], [
    10, 110, 20, 120, 2, 1, // keypoint 0 of both instances: x, y, visibility
    30, 130, 40, 140, 2, 0,
    50, NaN, 60, 160, 2, 2,
  ]);
  test("visibility 0 and broken places are not drawn, nor are edges to them", () => {
    const info = { skeleton: [[0, 1], [1, 2], [2, 0]] };
    const shapes = shapesOf(tensorOf("k", "keypoints", { info }), sample, size);
    expect(shapes.points.map(({ x, instance, hollow }) => [x, instance, hollow])).toEqual(
      [[10, 0, false], [30, 0, false], [50, 0, false], [110, 1, true]]);
    expect(shapes.edges).toHaveLength(3);
    expect(shapes.edges.every(({ instance }) => instance === 0)).toBe(true);
  });
  test.each([
    [{}, []],
    [{ skeleton: [[0, 1], [1, 2]] }, [[0, 1], [1, 2]]],
    [{ connections: [[0, 2]] }, [[0, 2]]],
    [{ skeleton: [[1, 2], [2, 3]] }, [[0, 1], [1, 2]]], // COCO counts from 1
    [{ skeleton: [[0, 3], [-1, 2], [1, 2], [1], "ab", [0.5, 1], null] }, [[1, 2]]],
    [{ skeleton: "0-1" }, []],
    [{ skeleton: { length: 5 } }, []],
  ])("skeleton of %j", (info, edges) => {
    expect(skeletonOf(info as Record<string, unknown>, 3)).toEqual(edges);
  });
});

test("points in two and three dimensions", () => {
  const two = shapesOf(tensorOf("p", "points"), array([2, 2], [1, 2, Infinity, 4]), size);
  expect(two.points).toEqual([{ x: 1, y: 2, instance: 0, hollow: false }]);
  const three = shapesOf(tensorOf("p", "points"), array([1, 3], [1, 2, 3]), size);
  expect(three.points).toHaveLength(1);
});

test("classes come from labels of as many elements, else from the index", () => {
  const labels = array([3], [7, 8, 9]);
  const classes = (sample: Sample | undefined, instances: number): number[] => {
    const classOf = classesOf(sample, instances);
    return Array.from({ length: instances }, (_, i) => classOf(i));
  };
  expect(classes(labels, 3)).toEqual([7, 8, 9]);
  expect(classes(labels, 2)).toEqual([0, 1]);
  expect(classes(array([1], [5]), 3)).toEqual([0, 1, 2]);
  expect(classes(array([], [5]), 3)).toEqual([5, 5, 5]);
  expect(classes(undefined, 2)).toEqual([0, 1]);
  expect([labelsFit(labels, 3), labelsFit(labels, 2), labelsFit({ kind: "missing" }, 3)])
    .toEqual([true, false, false]);
  expect([labelsFit(array([1], [5]), 3), labelsFit(array([], [5]), 3)]).toEqual([false, true]);
  expect([codeOf(5), codeOf(-1), codeOf(NaN), codeOf(Infinity)]).toEqual([5, noClass, noClass, noClass]);
});

test("hostile numbers of any shape give finite shapes and no exception", () => {
  const random = randomOf(9);
  const special = [NaN, Infinity, -Infinity, 0, -0, 1e308, -1e308, 5e-324, 2 ** 53];
  const draws = ["boxes", "polygons", "keypoints", "points", "mask", "array"] as const;
  for (let round = 0; round < 3000; round++) {
    const shape = Array.from({ length: wholeOf(random, 4) }, () => wholeOf(random, 7));
    const count = shape.reduce((product, side) => product * side, 1);
    const numbers = Array.from({ length: count }, () => random() < 0.5
      ? special[wholeOf(random, special.length)] : random() * 300 - 50);
    const draw = draws[wholeOf(random, draws.length)];
    const info = { skeleton: [[0, 1], [random() * 9, 2], ["x"]] };
    const mode = (["LTRB", "LTWH", "CCWH"] as const)[wholeOf(random, 3)];
    const tensor = tensorOf("t", draw, { info, boxes: mode, fractional: random() < 0.5 });
    const shapes: Shapes = shapesOf(tensor, array(shape, numbers), size);
    const all = [...shapes.boxes, ...shapes.points.flatMap(({ x, y }) => [x, y]),
      ...shapes.polygons.flatMap(({ xy }) => [...xy]),
      ...shapes.edges.flatMap(({ x0, y0, x1, y1 }) => [x0, y0, x1, y1])];
    expect(all.every(Number.isFinite)).toBe(true);
  }
});

test("segments are cut to a rectangle", () => {
  const into = new Float64Array(4);
  const clip = (...s: [number, number, number, number]): number[] | undefined =>
    clipSegment(...s, 0, 0, 10, 10, into) ? [...into] : undefined;
  expect(clip(1, 1, 2, 2)).toEqual([1, 1, 2, 2]);
  expect(clip(-5, 5, 15, 5)).toEqual([0, 5, 10, 5]);
  expect(clip(-5, -5, 15, 15)).toEqual([0, 0, 10, 10]);
  expect(clip(-5, 20, 15, 20)).toBeUndefined();
  expect(clip(-5, 0, 0, -5)).toBeUndefined();
  expect(clip(3, 3, 3, 3)).toEqual([3, 3, 3, 3]);
  const random = randomOf(6);
  for (let round = 0; round < 2000; round++) {
    const s = [0, 0, 0, 0].map(() => random() * 40 - 15) as [number, number, number, number];
    const got = clip(...s);
    if (got) for (const value of got) expect(value > -1e-9 && value < 10 + 1e-9).toBe(true);
  }
});
