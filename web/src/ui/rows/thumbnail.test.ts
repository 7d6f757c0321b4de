import { expect, test } from "vitest";
import type { Sample } from "../../data/samples";
import { isShowable, straight, texelsOf } from "./thumbnail";

test("pictures and arrays of pixels are shown, other samples are described", () => {
  const array = (...shape: number[]): Sample => ({ kind: "array", dtype: "uint8", shape, data: [] });
  expect(isShowable(array(4, 5, 3))).toBe(true);
  expect(isShowable(array(4))).toBe(false);
  expect(isShowable(undefined)).toBe(false);
  expect(isShowable({ kind: "error", message: "damaged" })).toBe(false);
});

test("requested sizes are powers of two, and bounded", () => {
  expect([1, 48, 64, 65, 9000].map(texelsOf)).toEqual([16, 64, 64, 128, 256]);
});

test("colours lose the factor alpha", () => {
  expect([...straight(new Uint8Array([9, 9, 9, 255, 50, 25, 0, 128, 7, 7, 7, 0]))])
    .toEqual([9, 9, 9, 255, 100, 50, 0, 128, 7, 7, 7, 0]);
});
