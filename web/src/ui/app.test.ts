import { expect, test } from "vitest";
import { viewOf } from "../data/testing";
import { inSight } from "./app";
import { home } from "./model/place";

test("the status line names the rows in sight", () => {
  const state = { place: { ...home, row: 3 }, primary: "images", view: viewOf(1218, []), sight: { first: 0, count: 16 } };
  expect(inSight(state)).toBe("rows 0 to 15");
  expect(inSight({ ...state, sight: { first: 1210, count: 16 } })).toBe("rows 1,210 to 1,217");
  expect(inSight({ ...state, place: { ...state.place, mode: "single" } })).toBe("row 3 of 1,218");
  expect(inSight({ ...state, place: { ...state.place, mode: "map" } })).toBe("");
});
