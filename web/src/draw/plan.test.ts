import { expect, test } from "vitest";
import type { Appearance, Sample, SampleStore } from "./api";
import { noClass, noNumber, rampPlace, rampSteps } from "./colors";
import { Painter } from "./painter";
import { borderOf, isColorable, planOf } from "./plan";
import { tensorOf, viewOf } from "../data/testing";

const over = { role: "overlay", over: "images" } as const;
const boxes = (name: string) => tensorOf(name, "boxes", over);
const view = viewOf(3, [
  tensorOf("images", "image", { role: "primary" }), boxes("gt/boxes"), boxes("pred/boxes"),
  tensorOf("pred/labels", "label", { max_shape: [9] }), tensorOf("pred/scores", "array", { dtype: "float32", max_shape: [9] }),
  tensorOf("weather", "label", { max_shape: [] }), tensorOf("speed", "number", { dtype: "float32", max_shape: [] }),
  tensorOf("ids", "array", { dtype: "int64", max_shape: [9] }), tensorOf("grid", "array", { dtype: "int64", max_shape: [9, 9] }),
  tensorOf("codes", "array", { dtype: "complex64", max_shape: [9] }), tensorOf("frames", "number", { sequence: true }),
]);
const appearance = (name?: string): Appearance => ({
  primary: "images", dark: true, layers: { "pred/labels": { visible: true, opacity: 1, hidden: new Set([7]) } },
  ...(name === undefined ? {} : { color: { name, low: 0, high: 10 } }),
});
const array = (...data: number[]): Sample => ({ kind: "array", dtype: "float32", shape: [data.length], data });
const single = (value: number): Sample => ({ kind: "array", dtype: "float32", shape: [], data: [value] });

/** The places in the palettes of three predicted boxes, for samples of a row. */
function places(color: string | undefined, samples: Record<string, Sample>): number[] {
  const all: Record<string, Sample> = {
    "pred/boxes": { kind: "array", dtype: "float32", shape: [3, 4], data: [0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 3, 3] },
    ...samples,
  };
  const store = { view, peek: (_: number, name: string) => all[name] } as unknown as SampleStore;
  const plan = planOf(view, appearance(color));
  const [one] = new Painter().annotations(store, plan, 0, 0, { width: 9, height: 9 });
  return [0, 1, 2].map((instance) => one.placeOf(instance));
}

test("classes and numbers colour, one or one for each instance", () => {
  expect(view.tensors.filter(isColorable).map(({ name }) => name))
    .toEqual(["pred/labels", "pred/scores", "weather", "speed", "ids"]);
});

test("values colour the overlays of their group, or of all groups", () => {
  const colored = (name: string): string[] =>
    planOf(view, appearance(name)).overlays.filter(({ color }) => color).map(({ tensor }) => tensor.name);
  expect(colored("pred/scores")).toEqual(["pred/boxes"]);
  expect(colored("ids")).toEqual(["gt/boxes", "pred/boxes"]);
  expect(colored("speed")).toEqual([]);
  expect(colored("weather")).toEqual([]);
  expect(colored("grid")).toEqual([]);
  const { palettes, color, columns } = planOf(view, appearance("pred/scores"));
  expect(palettes.map(({ ramp }) => ramp ?? false)).toEqual([false, true, true]);
  expect(color?.palette).toBe(3);
  expect(columns).toContainEqual({ name: "pred/scores", sized: false });
});

test("instances take the colours of their values", () => {
  expect(places(undefined, { "pred/labels": array(4, 5, 7) })).toEqual([4, 5, 7]);
  const scores = { "pred/scores": array(0, 10, NaN) };
  expect(places("pred/scores", scores)).toEqual([0, rampSteps - 1, noNumber]);
  expect(places("pred/scores", { ...scores, "pred/labels": array(4, 7, 5) })).toEqual([0, noClass, noNumber]);
  expect(places("pred/scores", { "pred/scores": array(1, 2) })).toEqual([noNumber, noNumber, noNumber]);
  expect(places("pred/scores", {})).toEqual([noNumber, noNumber, noNumber]);
  expect(places("weather", { weather: single(2), "pred/labels": array(4, 5, 6) })).toEqual([4, 5, 6]);
});

test("a single value colours the border of its cell", () => {
  const border = (name: string, sample: Sample | undefined): number | undefined => {
    const { color } = planOf(view, appearance(name));
    return color && borderOf(color, sample);
  };
  expect(border("weather", single(2))).toBe(2);
  expect(border("speed", single(10))).toBe(rampSteps - 1);
  expect(border("speed", single(NaN))).toBe(noNumber);
  expect(border("speed", { kind: "missing" })).toBeUndefined();
  expect(border("speed", undefined)).toBeUndefined();
  expect(border("pred/scores", array(1))).toBeUndefined();
});

test.each([[-1, 0], [0, 0], [5, 128], [10, 255], [99, 255], [Infinity, 255], [-Infinity, 0], [NaN, noNumber]])(
  "%d on a ramp from 0 to 10 has place %d", (value, place) => expect(rampPlace(value, 0, 10)).toBe(place));

test("a ramp of one number has a colour", () => {
  expect(rampPlace(3, 3, 3)).toBe(0);
});
