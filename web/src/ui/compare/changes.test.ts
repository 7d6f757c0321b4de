import { expect, test } from "vitest";
import type { Diff } from "../../data/protocol";
import type { Sample } from "../../data/samples";
import { tensorOf, viewOf } from "../../data/testing";
import { changedTensors, isWhole, valueText } from "./changes";
import { versionTitle } from "./compare";

const number = (value: number): Sample => ({ kind: "array", dtype: "float64", shape: [], data: [value] });

test("changed tensors: unchanged ones are left out, renamed ones keep their old name before", () => {
  const from = viewOf(3, [tensorOf("old", "number"), tensorOf("same", "number"), tensorOf("gone", "text")]);
  const to = viewOf(3, [tensorOf("new", "number"), tensorOf("same", "number"), tensorOf("made", "text")]);
  const diff = { tensors: [
    { name: "new", change: "renamed", was: "old", updated: 1 }, { name: "same", change: "changed", updated: 0 },
    { name: "gone", change: "deleted", updated: 0 }, { name: "made", change: "created", updated: 0 },
    { name: "neither", change: "deleted", updated: 0 },
  ] } as unknown as Diff;
  expect(changedTensors(diff, from, to).map((t) => [t.name, t.before?.name, t.after?.name])).toEqual([
    ["new", "old", "new"], ["gone", "gone", undefined], ["made", undefined, "made"]]);
});

test("values as text", () => {
  const labels = tensorOf("labels", "label", { class_names: ["cat", "dog"] });
  expect(valueText(undefined, labels)).toBeUndefined();
  expect(valueText(number(9.5), tensorOf("x", "number"))).toBe("9.5");
  expect(valueText(number(1), labels)).toBe("dog");
  expect(valueText({ kind: "missing" }, labels)).toBe("missing");
  expect(valueText({ kind: "text", text: "a\nb", whole: true }, tensorOf("t", "text"))).toBe("a\nb");
  expect(valueText({ kind: "json", value: { a: 1 }, text: "{}" }, tensorOf("j", "json"))).toBe('{\n  "a": 1\n}');
  const boxes: Sample = { kind: "array", dtype: "float32", shape: [2, 4], data: [1, 2, 3, 4, 5, 6, 7, 8] };
  expect(valueText(boxes, tensorOf("b", "boxes"))).toBe("1, 2, 3, 4\n5, 6, 7, 8");
  const long: Sample = { kind: "array", dtype: "float32", shape: [300], data: new Float32Array(300) };
  expect(valueText(long, tensorOf("v", "array"))).toBe("float32 of shape (300)");
  const picture: Sample = { kind: "array", dtype: "uint8", shape: [2, 3, 1], data: [1, 2, 3, 4, 5, 6], width: 30, height: 20 };
  expect(valueText(picture, tensorOf("p", "image"))).toBe("30 × 20");
  expect([number(1), picture, long].map(isWhole)).toEqual([true, false, false]);
});

test("versions are called as they were chosen", () => {
  const view = viewOf(1, []);
  expect(versionTitle(view, view.commit)).toBe("version 1");
  expect(versionTitle(view, "fix")).toBe("fix, version 1");
});
