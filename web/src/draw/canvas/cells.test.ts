import { expect, test } from "vitest";
import { tensorOf, viewOf } from "../../data/testing";
import { describe as described } from "../../ui/text/describe";
import { choosePrimary, picturesOf } from "../../ui/model/layers";
import { endsOf } from "../../ui/rows/window";
import type { Sample } from "../api";
import { messageOf } from "./cells";

test("grid and panel give the size of a huge picture in one unit, and the grid a way to it", () => {
  const huge: Sample = { kind: "large", size: 900_000_000, width: 20_000, height: 15_000 };
  expect(messageOf(huge)).toBe("900 MB, no thumbnail: open it, or store it with downsample=");
  expect(described(huge, tensorOf("slide", "image"))).toBe("20000 × 15000, 900 MB");
  expect(messageOf({ kind: "large", size: 900_000_000 })).toBe("900 MB, too large to show");
});

test("cells show pictures, and masks where there are none", () => {
  const mask = tensorOf("mask", "mask");
  const classes = tensorOf("classes", "segments");
  const image = tensorOf("images", "image", { role: "primary" });
  expect(picturesOf(viewOf(1, [mask, image, classes]))).toEqual([image]);
  expect(choosePrimary(viewOf(1, [tensorOf("y", "number"), mask, classes]))).toBe("mask");
  expect(choosePrimary(viewOf(1, [mask, classes]), "classes")).toBe("classes");
  expect(choosePrimary(viewOf(1, [tensorOf("y", "number")]))).toBe("");
});

test("the sliders reach the range of a row, and what was chosen at another row", () => {
  const row = { low: 0, high: 10 };
  expect(endsOf(row, undefined)).toEqual(row);
  expect(endsOf(row, { low: 2, high: 5 })).toEqual(row);
  expect(endsOf(row, { low: -3, high: 50 })).toEqual({ low: -3, high: 50 });
});
