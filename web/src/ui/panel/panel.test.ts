import { expect, it } from "vitest";
import { rowCode } from "./panel";

it.each([
  ["", "", 3, undefined, "ds[3]"],
  ["", "", 3, 3, "ds[3]"],
  ["v1", "", 3, 7, 'ds.at("v1")[7]'],
  ["", "a > 1", 3, 7, "ds[7]"],
  ["", 'label = "x"', 3, undefined, 'ds.query("label = \\"x\\"")[3]'],
  ["v1", "GROUP BY a", 0, undefined, 'ds.at("v1").query("GROUP BY a")[0]'],
] as const)("at %j, query %j, row %d, index %s: %s", (at, query, row, index, code) =>
  expect(rowCode(at, query, row, index)).toBe(code));
