import { expect, test } from "vitest";
import type { Tensor, View } from "../../data/protocol";
import { orderBy } from "../text/tql";
import { agreement, guessPair, rivalsOf, scoreName } from "./truth";

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

const agree = (truth: Tensor, prediction: Tensor, ...others: Tensor[]): string =>
  agreement(viewOf(truth, prediction, ...others), truth, prediction, "images", none);

test("agreement quotes names, and scales pixels to fractions", () => {
  expect(agree(tensor('g/a"'), tensor("b"))).toBe(`2 * BOX_MATCHES("g/a""", b, 0.5) / (SHAPE("g/a""")[0] + SHAPE(b)[0])`);
  const scaled = agree(tensor("a"), tensor("b", { fractional: true }));
  expect(scaled).toContain("NORMALIZE(a, [0, 0, SHAPE(images)[1], SHAPE(images)[0]]), b");
  expect(agree(tensor("a"), tensor("b", { draw: "mask" }))).toBe("");
  expect(agree(tensor("a", { sequence: true }), tensor("b"))).toBe("");
});

const labels = (name: string, group = "", shape = [-1]): Tensor => tensor(name, { draw: "label", group, max_shape: shape });
const numbers = (name: string, group = ""): Tensor => tensor(name, { draw: "array", group, max_shape: [9] });

test("classes and scores of groups count in the agreement", () => {
  const [t, p] = [tensor("gt/boxes", { group: "gt" }), tensor("pred/boxes", { group: "pred" })];
  const classes = [labels("gt/kind", "gt"), labels("pred/kind", "pred"), labels("label")];
  const scores = [numbers("pred/area", "pred"), numbers("pred/conf", "pred"), numbers("gt/score", "gt")];
  expect(agree(t, p, ...classes)).toContain('0.5, "gt/kind", "pred/kind")');
  expect(agree(t, p, ...classes, ...scores)).toContain('0.5, "gt/kind", "pred/kind", "pred/conf")');
  expect(agree(t, p, classes[0], ...scores)).toContain('0.5, "pred/conf")');
  expect(agree(t, p, labels("gt/kind", "gt", [4, 4]), classes[1])).toContain("0.5)");
});

test("in one group, names say which classes and scores belong to which boxes", () => {
  const [t, p] = [tensor("boxes"), tensor("pred_boxes")];
  const others = [labels("weather"), labels("pred_labels"), labels("labels"), numbers("scores"), numbers("pred_scores")];
  expect(agree(t, p, ...others)).toContain("0.5, labels, pred_labels, pred_scores)");
  expect(agree(t, p, labels("weather"), labels("predicted"), numbers("score"))).toContain("0.5)");
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

test("the score has a name that no tensor has", () => {
  expect(scoreName(viewOf(tensor("a")))).toBe("f1");
  expect(scoreName(viewOf(tensor("f1"), tensor("f1_2")))).toBe("f1_3");
  expect(scoreName(viewOf(tensor("f1", { computed: true })))).toBe("f1");
});
