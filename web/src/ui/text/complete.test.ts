import { expect, test } from "vitest";
import { tensorOf, viewOf } from "../../data/testing";
import { inSight } from "../app";
import { complete, exampleOf } from "./complete";
import { home } from "../model/place";
import { savedRows } from "../dialogs/save";
import { isSortable } from "../rows/table";

const labels = tensorOf("labels", "label", { class_names: ["cat", "it's", "dog"] });
const score = tensorOf("score", "number");
const words = { keywords: ["SELECT", "WHERE"], functions: ["MAX"] };
const inserted = (text: string, asked = true): string[] | undefined =>
  complete(text, text.length, [labels, score], words, asked)?.options.map((option) => option.insert);

test("class names are offered before their first quote is typed", () => {
  expect(inserted("labels = ")).toEqual(["'cat'", "'it''s'", "'dog'"]);
  expect(inserted("score > 1 AND labels != ")).toEqual(["'cat'", "'it''s'", "'dog'"]);
  expect(inserted("labels IN ('cat', ")).toEqual(["'cat'", "'it''s'", "'dog'"]);
  expect(inserted("labels = ", false)).toBeUndefined();
  expect(inserted("labels = 'c")).toEqual(["'cat'"]);
  // A tensor without class names gets the names of tensors and functions.
  expect(inserted("score = ")).toContain("score");
});

test("the example in the empty query box is of the dataset", () => {
  expect(exampleOf([score, labels], [])).toBe("labels = 'cat'");
  expect(exampleOf([tensorOf("labels", "label"), score], [])).toBe("score > 0");
  expect(exampleOf([tensorOf("where", "number")], ["WHERE"])).toBe('"where" > 0');
  expect(exampleOf([tensorOf("x", "label", { class_names: ["y".repeat(50)] })], [])).toBe("A condition, or SELECT …");
  expect(exampleOf([], [])).toBe("A condition, or SELECT …");
});

test("what the status line and the dialogs call rows", () => {
  const state = { place: { ...home, row: 3 }, primary: "images", view: viewOf(1218, []), sight: { first: 0, count: 16 } };
  expect(inSight(state)).toBe("rows 0 to 15");
  expect(inSight({ ...state, sight: { first: 1210, count: 16 } })).toBe("rows 1,210 to 1,217");
  expect(inSight({ ...state, place: { ...state.place, mode: "single" } })).toBe("row 3 of 1,218");
  expect(inSight({ ...state, place: { ...state.place, mode: "map" } })).toBe("");
  expect(savedRows({ rows: 50 }, true)).toBe("50 selected rows");
  expect(savedRows({ rows: 1, query: "SELECT *" }, false)).toBe("SELECT *: 1 row");
  expect(savedRows({ rows: 9 }, false)).toBe("All rows: 9 rows");
});

test("columns of one value can be sorted", () => {
  expect([labels, score, tensorOf("t", "text"), tensorOf("b", "boxes"), tensorOf("l", "label", { max_shape: [3] }),
    tensorOf("s", "number", { sequence: true })].map(isSortable)).toEqual([true, true, true, false, false, false]);
});
