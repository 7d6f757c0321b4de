import { expect, test } from "vitest";
import type { Stats } from "../../data/protocol";
import { formatRows } from "../text/format";
import { classLines } from "./classes";
import { barsOf, summaryOf } from "./stats";

const stats: Stats = { rows: 1000, missing: 12, kind: "histogram", what: "value", min: -1, mean: 0.5, max: 2 };

test.each<[string, Partial<Stats>]>([
  ["1,000 rows, 12 missing, min -1, mean 0.5, max 2", {}],
  ["boxes: 1,000 rows, min -1, mean 0.5, max 2", { what: "boxes", missing: 0 }],
  ["1,000 rows; about, from 100 rows, 12 missing, min -1, mean 0.5, max 2", { sampled: 100 }],
  ["1,000 rows, 12 missing, min -1, max 2; about, from 100 rows, mean 0.5", { sampled: 100, exact: ["missing", "min", "max"] }],
])("%s", (text, change) => {
  expect(summaryOf({ ...stats, ...change })).toBe(text);
});

test("numbers of instances are not called rows", () => {
  expect(formatRows(7, { unit: "instances" })).toBe("7 instances");
  expect(formatRows(1, { unit: "instances" })).toBe("1 instance");
  expect(formatRows(7, { unit: "rows" })).toBe("7 rows");
  expect(formatRows(7, stats)).toBe("7 rows");
});

test("lengths of sequences are no classes", () => {
  const counts: Stats = { rows: 9, missing: 0, kind: "classes", what: "items", classes: [{ value: 3, name: "3", rows: 9 }], filters: ["x"] };
  expect(classLines(["ball"], counts)).toEqual([{ value: 0, name: "ball", rows: undefined, condition: "" }]);
  expect(classLines(["ball"], { ...counts, what: "class", classes: [{ value: 0, name: "ball", rows: 9 }] }))
    .toEqual([{ value: 0, name: "ball", rows: 9, condition: "x" }]);
});

test("times are written as times", () => {
  const day = 86_400;
  const times: Stats = { rows: 9, missing: 0, kind: "histogram", what: "value", min: 0, max: 20 * day,
    bins: [{ from: 0, to: 10 * day, rows: 4 }, { from: 10 * day, to: 20 * day, rows: 5 }] };
  expect(summaryOf(times, "timestamp[s]")).toBe("9 rows, min 1970-01-01, max 1970-01-21");
  expect(barsOf(times, "timestamp[s]").map((bar) => bar.label))
    .toEqual(["1970-01-01 – 1970-01-11", "1970-01-11 – 1970-01-21"]);
  expect(barsOf({ ...times, what: "items" }, "timestamp[s]")[0].label).toBe("0 – 864000");
});
