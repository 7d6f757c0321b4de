import { describe, expect, it } from "vitest";
import { formatPlace, home, parsePlace, parseTarget, rowsGo, takeKey, within, type Place } from "./place";

describe("the place in the address", () => {
  it("is read as it was written", () => {
    const places: Partial<Place>[] = [
      {}, { at: "main" }, { saved: "best & last" }, { query: "a = 'x#y' AND b > 1\n%&=+" },
      { classes: [{ name: "a:b, c&d=", values: [0, 1, 2, 7, 9, 10] }, { name: "labels", values: [3] }], picture: "depth #2" },
      { first: 10_000_000, row: 5, item: 3, time: 12.345, mode: "single", cell: 512, hidden: ["truth/boxes", "a&b"] },
    ];
    for (const change of places) {
      const place = { ...home, ...change };
      expect(parsePlace(`#${formatPlace(place)}`)).toEqual(place);
    }
    expect(formatPlace({ ...home })).toBe("");
  });

  it("gives what makes no sense its default", () => {
    const place = parsePlace("#first=-4&row=1e99&mode=hostile&cell=999999&item=NaN&t=1e9");
    expect(place.first).toBe(0);
    expect(place.mode).toBe("");
    expect(place.cell).toBe(1024);
    expect(place.item).toBe(0);
    expect(place.time).toBe(0);
  });

  it("leaves out hidden classes that make no sense", () => {
    const read = (...texts: string[]) => parsePlace(texts.map((text) => `classes=${encodeURIComponent(text)}`).join("&")).classes;
    expect(read("a:x,1,-3,2-", ":4", "b", "c:", "d:9-2", "e:99999999999")).toEqual([{ name: "a", values: [1] }]);
    expect(read("__proto__:1")).toEqual([{ name: "__proto__", values: [1] }]);
    expect(read("a:0-9999999999")[0].values).toHaveLength(100_000);
    expect(formatPlace({ ...home, classes: [{ name: "a", values: [0, 1, 2, 3, 8] }] })).toBe("classes=a%3A0-3%2C8");
  });

  it("stays within the rows of a view", () => {
    const place = { ...home, row: 99_999, first: 500 };
    expect(within(place, 12)).toMatchObject({ row: 11, first: 11 });
    expect(within(place, 0)).toMatchObject({ row: -1, first: 0 });
    expect(within(home, 0)).toBe(home);
    expect(within(place, 100_000)).toBe(place);
    expect(rowsGo(12_000)).toBe("Rows go from 0 to 11,999.");
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
