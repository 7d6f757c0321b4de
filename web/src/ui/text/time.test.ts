import { expect, test } from "vitest";
import type { Sample } from "../../data/samples";
import { tensorOf } from "../../data/testing";
import { arrayLines, describe } from "./describe";
import { formatAbout, formatCounted } from "./time";

test.each([
  ["date", 0n, "1970-01-01"],
  ["date", 19_782, "2024-02-29"],
  ["date", -1n, "1969-12-31"],
  ["timestamp[s]", 1_709_200_800n, "2024-02-29 10:00:00"],
  ["timestamp[ms]", 1_709_200_800_250n, "2024-02-29 10:00:00.25"],
  ["timestamp[us]", -1n, "1969-12-31 23:59:59.999999"],
  ["timestamp[ns]", 1n, "1970-01-01 00:00:00.000000001"],
  ["timestamp[us, UTC]", 1_709_200_800_000_000n, "2024-02-29 10:00:00 UTC"],
  ["timestamp[us, Europe/Berlin]", 1_709_200_800_000_000n, "2024-02-29 11:00:00 Europe/Berlin"],
  ["timestamp[s, +05:30]", 1_709_200_800n, "2024-02-29 15:30:00 +05:30"],
  ["timestamp[s, -01:00]", 0n, "1969-12-31 23:00:00 -01:00"],
  ["timestamp[s, No/Where]", 0n, "1970-01-01 00:00:00 UTC"],
  ["timestamp[s, Europe/Berlin]", -70_000_000_000n, "-000249-10-15 19:33:20 UTC"],
  ["timestamp[us]", -(2n ** 63n), "not a time"],
  ["interval[s]", 93_784n, "1 day 2:03:04"],
  ["interval[ms]", -1500n, "-0:00:01.5"],
  ["interval[ns]", 2n * 86_400n * 1_000_000_000n, "2 days 0:00:00"],
  ["timestamp[s]", 2n ** 62n, null], // beyond the calendar
  ["timestamp[fs]", 1n, null],
  ["", 1n, null],
  ["date", 0.5, null],
])("%s %s is %s", (time, value, text) => {
  expect(formatCounted(time, value)).toBe(text);
});

test("cells and panels show times", () => {
  const tensor = tensorOf("seen", "number", { time: "timestamp[s]" });
  const one: Sample = { kind: "array", dtype: "int64", shape: [], data: new BigInt64Array([60n]) };
  expect(describe(one, tensor)).toBe("1970-01-01 00:01:00");
  expect(describe(one, tensorOf("seen", "number"))).toBe("60");
  const two: Sample = { kind: "array", dtype: "int64", shape: [2], data: new BigInt64Array([0n, 1n]) };
  expect(arrayLines(two, tensor, 8)).toEqual(["1970-01-01 00:00:00, 1970-01-01 00:00:01"]);
});

test.each<[string, number, number, string | null]>([
  ["timestamp[s]", 1_700_000_000.7, 0.1, "2023-11-14 22:13:21"],
  ["timestamp[ms]", 1_700_000_000_250, 10, "2023-11-14 22:13:20.25"],
  ["timestamp[ms]", 1_700_000_000_250, 1000, "2023-11-14 22:13:20"],
  ["timestamp[ns]", 1.7e18, 86_400e9, "2023-11-14"],
  ["timestamp[us, Europe/Berlin]", 1_700_002_800e6 + 3_600e6, 86_400e6, "2023-11-15"],
  ["date", 19_000.4, 1, "2022-01-08"],
  ["interval[ms]", 90_061_500, 1000, "1 day 1:01:01"],
  ["timestamp[s]", Number.NaN, 1, null],
  ["", 3, 1, null],
])("%s: about %d in steps of %d is %s", (time, value, step, text) => {
  expect(formatAbout(time, value, step)).toBe(text);
});
