import { expect, test } from "vitest";
import { tensorOf, viewOf } from "../../data/testing";
import { choosePrimary, isSmall, isSortable, picturesOf } from "./tensors";

test("cells show pictures, and masks where there are none", () => {
  const mask = tensorOf("mask", "mask");
  const classes = tensorOf("classes", "segments");
  const image = tensorOf("images", "image", { role: "primary" });
  expect(picturesOf(viewOf(1, [mask, image, classes]))).toEqual([image]);
  expect(choosePrimary(viewOf(1, [tensorOf("y", "number"), mask, classes]))).toBe("mask");
  expect(choosePrimary(viewOf(1, [mask, classes]), "classes")).toBe("classes");
  expect(choosePrimary(viewOf(1, [tensorOf("y", "number")]))).toBe("");
});

test("columns of one value can be sorted", () => {
  expect([tensorOf("labels", "label"), tensorOf("score", "number"), tensorOf("t", "text"), tensorOf("b", "boxes"), tensorOf("l", "label", { max_shape: [3] }),
    tensorOf("s", "number", { sequence: true })].map(isSortable)).toEqual([true, true, true, false, false, false]);
});

test("cells show pictures before videos, and videos before masks", () => {
  const film = tensorOf("film", "video", { role: "primary" });
  const image = tensorOf("images", "image", { role: "primary" });
  expect(picturesOf(viewOf(1, [film, tensorOf("mask", "mask"), image]))).toEqual([image, film]);
  expect(choosePrimary(viewOf(1, [tensorOf("mask", "mask"), film]))).toBe("film");
  expect([image, film].map(isSmall)).toEqual([false, false]);
});
