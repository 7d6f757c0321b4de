import { expect, test } from "vitest";
import { endsOf } from "./window";

test("the sliders reach the range of a row, and what was chosen at another row", () => {
  const row = { low: 0, high: 10 };
  expect(endsOf(row, undefined)).toEqual(row);
  expect(endsOf(row, { low: 2, high: 5 })).toEqual(row);
  expect(endsOf(row, { low: -3, high: 50 })).toEqual({ low: -3, high: 50 });
});
