import { describe, expect, test } from "vitest";
import type { Tensor } from "../../data/protocol";
import type { Sample, SampleStore } from "../../data/samples";
import { tensorOf, viewOf } from "../../data/testing";
import type { Appearance } from "../api";
import { noClass, noNumber, rampPlace, rampSteps } from "../colors";
import { borderOf, captionOf, isColorable, planOf } from "../plan";
import { Painter } from "./painter";

const over = { role: "overlay", over: "images" } as const;
const view = viewOf(3, [
  tensorOf("images", "image", { role: "primary" }), tensorOf("gt/boxes", "boxes", over),
  tensorOf("pred/boxes", "boxes", { ...over, labels: ["pred/labels"] }),
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

/** Returns the places in the palettes of three predicted boxes, for samples of a row. */
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
  // Class 7 is hidden.
  expect(places(undefined, { "pred/labels": array(4, 5, 7) })).toEqual([4, 5, noClass]);
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

describe("labels, masks and texts", () => {
  const tensors = [
    tensorOf("images", "image", { role: "primary" }),
    tensorOf("kind", "label", { ...over, class_names: ["indoor", "outdoor"], max_shape: [] }),
    tensorOf("boxes", "boxes", { ...over, labels: ["box_class"] }),
    tensorOf("box_class", "label", { ...over, class_names: ["cat", "dog"], max_shape: [2] }),
    tensorOf("mask", "mask", { ...over, max_shape: [9, 9] }),
    tensorOf("note", "json"), tensorOf("m", "number"), tensorOf("n", "number"), tensorOf("k", "number"),
    tensorOf("vector", "embedding"),
  ];
  const mixed = viewOf(1, tensors);
  const hiding = (layers: Record<string, number[]>): Appearance => ({
    primary: "images", dark: true, layers: Object.fromEntries(Object.entries(layers)
      .map(([name, hidden]) => [name, { visible: true, opacity: 1, hidden: new Set(hidden) }])),
  });
  const drawn = (samples: Record<string, Sample>, layers: Record<string, number[]> = {}) => {
    const store = { view: mixed, peek: (_: number, name: string) => samples[name] } as unknown as SampleStore;
    const plan = planOf(mixed, hiding(layers));
    const found = new Painter().annotations(store, plan, 0, 0, { width: 9, height: 9 });
    return found.map((one) => Array.from({ length: Math.max(1, one.shapes.instances) }, (_, i) => [one.nameOf(i), one.placeOf(i)]));
  };
  const boxesOf = (count: number): Sample => ({
    kind: "array", dtype: "float32", shape: [count, 4], data: Array.from({ length: 4 * count }, (_, i) => i),
  });

  test("shapes have their own classes, not that of the picture", () => {
    const kind = single(1);
    expect(drawn({ kind, boxes: boxesOf(2), box_class: array(1, 0) })).toEqual([[["dog", 1], ["cat", 0]]]);
    expect(drawn({ kind, boxes: boxesOf(1), box_class: array(0) })).toEqual([[["cat", 0]]]);
    expect(drawn({ kind, boxes: boxesOf(2) })).toEqual([[["", 0], ["", 1]]]);
    // The only mask is none of the boxes, though a row has one of each.
    const mask: Sample = { kind: "array", dtype: "bool", shape: [1, 1], data: [1] };
    expect(drawn({ kind, mask, box_class: array(1) })).toEqual([[["", 0]]]);
  });

  test("a class that is hidden hides shapes that it names, and no others", () => {
    const row = { kind: single(1), boxes: boxesOf(2), box_class: array(1, 0) };
    expect(drawn(row, { kind: [0, 1] })).toEqual([[["dog", 1], ["cat", 0]]]);
    expect(drawn(row, { box_class: [1] })).toEqual([[["dog", noClass], ["cat", 0]]]);
    expect(planOf(mixed, hiding({ box_class: [1] })).palettes.map(({ hidden }) => hidden.size)).toEqual([0, 0]);
  });

  test("captions are labels of the picture and numbers, and switches are what they change", () => {
    const { captions, switches } = planOf(mixed, hiding({ kind: [], note: [], box_class: [] }));
    expect(captions.map(({ name }) => name)).toEqual(["kind", "m", "n"]);
    expect([...switches].sort()).toEqual(["boxes", "kind", "m", "mask", "n"]);
    const off = hiding({});
    off.layers.m = { visible: false, opacity: 1, hidden: new Set() };
    expect([...planOf(mixed, off).switches].sort()).toEqual(["boxes", "k", "kind", "m", "mask", "n"]);
  });

  test("numbers stand behind their names, where there is more than one line", () => {
    const length = tensorOf("truth/length", "number");
    expect([captionOf(length, single(12), true), captionOf(length, single(12))]).toEqual(["length 12", "12"]);
    expect(captionOf(tensors[1], single(1), true)).toBe("outdoor");
    expect(captionOf(length, { kind: "missing" }, true)).toBe("");
  });

  test("the score of a query comes first, with its name", () => {
    const f1 = tensorOf("f1", "number", { computed: true });
    expect(planOf(viewOf(1, [...tensors, f1]), hiding({})).captions.map(({ name }) => name)).toEqual(["f1", "kind", "m"]);
    expect(captionOf(f1, single(0.5))).toBe("f1 0.5");
  });

  test("JSON is one line after the others", () => {
    const meta = tensorOf("meta", "json");
    const named = (all: Tensor[], appearance = hiding({})): string[] =>
      planOf(viewOf(1, all), appearance).captions.map(({ name }) => name);
    expect(named([tensors[0], meta, tensors[1]])).toEqual(["kind", "meta"]);
    expect(named([meta, ...tensors])).toEqual(["kind", "m", "n"]);
    expect(planOf(viewOf(1, [tensors[0], meta]), hiding({})).switches).toEqual(new Set(["meta"]));
    const json: Sample = { kind: "json", value: {}, text: `{"a":\n ${"1".repeat(500)}}` };
    expect(captionOf(meta, json)).toMatch(/^\{"a": 1{100,}…$/);
  });

  test("a mask is the picture where there is none, and shapes lie over it", () => {
    const masks = viewOf(1, [tensorOf("y", "number"), tensorOf("mask", "mask"), tensorOf("other", "segments"), tensorOf("boxes", "boxes")]);
    const plan = planOf(masks, { primary: "mask", dark: true, layers: {} });
    expect(plan.primaryIsOverlay).toBe(true);
    expect(plan.overlays.map(({ tensor }) => tensor.name)).toEqual(["mask", "boxes"]);
    expect(plan.captions.map(({ name }) => name)).toEqual(["y"]);
  });
});
