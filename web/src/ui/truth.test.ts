import { expect, test } from "vitest";
import type { Tensor, View } from "../data/protocol";
import { orderBy } from "./tql";
import { agreement, guessPair, rivalsOf } from "./truth";

const tensor = (name: string, change: Partial<Tensor> = {}): Tensor => ({
  name, group: "", htype: "bbox", sequence: false, list: false, dtype: "float32", shape: null, min_shape: null,
  max_shape: null, class_names: [], info: {}, computed: false, role: "overlay", over: "images", draw: "boxes", ...change,
});
const viewOf = (...tensors: Tensor[]): View => ({
  view: "v1", uri: "", rows: 1, branch: "", commit: "", version: 1, message: "", time: "", tensors,
});
const none = new Set<string>();

test("annotations of one kind over one picture can be set against each other", () => {
  const view = viewOf(tensor("a"), tensor("b"), tensor("c", { over: "depth" }), tensor("m", { draw: "mask" }));
  expect(rivalsOf(view, "images").map((t) => t.name)).toEqual(["a", "b"]);
  expect(rivalsOf(view, "depth")).toEqual([]);
  expect(rivalsOf(view, "")).toEqual([]);
});

test.each([
  [["pred/boxes", "truth/boxes"], ["truth/boxes", "pred/boxes"]],
  [["model_out", "gt"], ["gt", "model_out"]],
  [["a", "b"], ["a", "b"]],
  [["boxes", "predicted"], ["boxes", "predicted"]],
])("names suggest which one is the truth: %j", (names, pair) => {
  expect(guessPair(names.map((name) => tensor(name)))).toEqual(pair);
});

test("a pair has one kind", () => {
  expect(guessPair([tensor("truth"), tensor("pred", { draw: "mask" })])).toBeUndefined();
  expect(guessPair([tensor("truth")])).toBeUndefined();
});

test("agreement quotes names, and scales pixels to fractions", () => {
  const text = agreement(tensor('g/a"'), tensor("b"), "images", none);
  expect(text).toContain(`IOU("g/a""", b, 'pairwise') >= 0.5`);
  const scaled = agreement(tensor("a"), tensor("b", { fractional: true }), "images", none);
  expect(scaled).toContain("NORMALIZE(a, [0, 0, SHAPE(images)[1], SHAPE(images)[0]]), b");
  expect(agreement(tensor("a"), tensor("b", { draw: "mask" }), "images", none)).toBe("");
  expect(agreement(tensor("a", { sequence: true }), tensor("b"), "images", none)).toBe("");
});

test.each([
  ["", "ORDER BY x"],
  ["a = 1", "a = 1 ORDER BY x"],
  ["a = 1 ORDER BY y", "a = 1 ORDER BY x"],
  ["SELECT * WHERE a = 1 ORDER BY y", "SELECT * WHERE a = 1 ORDER BY x"],
  ["SELECT a, b LIMIT 3", "SELECT * FROM (SELECT a, b LIMIT 3) ORDER BY x"],
])("an order is put behind %j", (text, wanted) => {
  expect(orderBy(text, "x")).toBe(wanted);
});
