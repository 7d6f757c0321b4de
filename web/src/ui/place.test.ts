import { describe, expect, it } from "vitest";
import { formatPlace, home, parsePlace, parseTarget, takeKey, type Place } from "./place";

describe("the place in the address", () => {
  it("is read as it was written", () => {
    const places: Partial<Place>[] = [
      {}, { at: "main" }, { saved: "best & last" }, { query: "a = 'x#y' AND b > 1\n%&=+" },
      { first: 10_000_000, row: 5, item: 3, mode: "single", cell: 512, hidden: ["truth/boxes", "a&b"] },
    ];
    for (const change of places) {
      const place = { ...home, ...change };
      expect(parsePlace(`#${formatPlace(place)}`)).toEqual(place);
    }
    expect(formatPlace({ ...home })).toBe("");
  });

  it("gives what makes no sense its default", () => {
    const place = parsePlace("#first=-4&row=1e99&mode=hostile&cell=999999&item=NaN");
    expect(place.first).toBe(0);
    expect(place.mode).toBe("");
    expect(place.cell).toBe(1024);
    expect(place.item).toBe(0);
  });

  it("loses its key", () => {
    expect(takeKey("#key=abc&row=3")).toEqual({ key: "abc", rest: "row=3" });
    expect(takeKey("#row=3")).toEqual({ key: null, rest: "row=3" });
  });
});

describe("the row or slice to go to", () => {
  const cases: [string, object][] = [
    ["12", { kind: "row", row: 12 }], ["-1", { kind: "row", row: 99 }], ["ds[7]", { kind: "row", row: 7 }],
    ["10:20", { kind: "slice", begin: 10, end: 20, step: 1 }], [":", { kind: "slice", begin: 0, end: 100, step: 1 }],
    ["-10::3", { kind: "slice", begin: 90, end: 100, step: 3 }],
  ];
  it.each(cases)("reads %s", (text, target) => expect(parseTarget(text, 100)).toEqual(target));
  it.each(["100", "-101", "x", "1:2:0", "20:10", "1:2:3:4"])("refuses %s", (text) =>
    expect(parseTarget(text, 100).kind).toBe("fault"));
});
