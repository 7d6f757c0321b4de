import { expect, test } from "vitest";
import type { Sample } from "../../data/samples";
import { tensorOf } from "../../data/testing";
import { describe } from "./describe";

test("the panel gives the size of a huge picture in the unit of the grid", () => {
  const huge: Sample = { kind: "large", size: 900_000_000, width: 20_000, height: 15_000 };
  expect(describe(huge, tensorOf("slide", "image"))).toBe("20000 × 15000, 900 MB");
});
