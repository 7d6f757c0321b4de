import { expect, test } from "vitest";
import type { Stats } from "../data/protocol";
import { summaryOf } from "./stats";

const stats: Stats = { rows: 1000, missing: 12, kind: "histogram", what: "value", min: -1, mean: 0.5, max: 2 };

test.each<[string, Partial<Stats>]>([
  ["1,000 rows, 12 missing, min -1, mean 0.5, max 2", {}],
  ["boxes: 1,000 rows, min -1, mean 0.5, max 2", { what: "boxes", missing: 0 }],
  ["1,000 rows; about, from 100 rows, 12 missing, min -1, mean 0.5, max 2", { sampled: 100 }],
  ["1,000 rows, 12 missing, min -1, max 2; about, from 100 rows, mean 0.5", { sampled: 100, exact: ["missing", "min", "max"] }],
])("%s", (text, change) => {
  expect(summaryOf({ ...stats, ...change })).toBe(text);
});
