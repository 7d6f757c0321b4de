import { expect, test } from "vitest";
import { tensorOf } from "../../data/testing";
import { complete, exampleOf } from "./complete";

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
