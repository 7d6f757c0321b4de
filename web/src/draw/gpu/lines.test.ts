import { expect, test } from "vitest";
import type { Sample } from "../../data/samples";
import { layout, lineTop, linesIn, stripTop } from "../geometry";
import { isNewer, LineSlots, packing } from "./lines";

const missing: Sample = { kind: "missing" };

test("a line is found until another one takes its layer", () => {
  const slots = new LineSlots();
  slots.reset({ layers: 5, perLayer: 1 });
  for (let line = 7; line < 12; line++) slots.set({ line, samples: [], pending: false });
  for (let line = 7; line < 12; line++) expect(slots.get(line)?.line).toBe(line);
  expect(slots.get(2)).toBeUndefined();
  slots.set({ line: 12, samples: [], pending: false });
  expect(slots.get(7)).toBeUndefined();
  expect(slots.get(12)?.line).toBe(12);
});

test("lines in sight have layers of their own", () => {
  const slots = new LineSlots();
  slots.reset({ layers: 6, perLayer: 1 });
  for (const first of [0, 5, 1_000_000_007]) {
    const layers = new Set([0, 1, 2, 3, 4, 5].map((n) => slots.layer(first + n)));
    expect(layers.size).toBe(6);
  }
});

test.each([
  [7, 40, { layers: 7, perLayer: 1 }],
  [256, 40, { layers: 256, perLayer: 1 }],
  [257, 40, { layers: 256, perLayer: 2 }],
  [1000, 12, { layers: 256, perLayer: 4 }],
])("%d lines of %d texels have places", (count, height, wanted) => {
  const packed = packing(count, height, 256, 8192);
  expect(packed).toEqual(wanted);
  const slots = new LineSlots();
  slots.reset(packed);
  for (const first of [0, 5, 1_000_000_007]) {
    const places = new Set<string>();
    for (let line = first; line < first + count; line++) {
      expect(slots.layer(line)).toBeLessThan(256);
      expect((slots.place(line) + 1) * height).toBeLessThanOrEqual(8192);
      places.add(`${slots.layer(line)} ${slots.place(line)}`);
    }
    expect(places.size).toBe(count);
  }
});

test("a layer is no higher than textures may be", () => {
  expect(packing(1000, 5000, 256, 8192)).toEqual({ layers: 256, perLayer: 1 });
});

test("a reset forgets all lines", () => {
  const slots = new LineSlots();
  slots.reset({ layers: 1, perLayer: 2 });
  slots.set({ line: 0, samples: [], pending: false });
  slots.reset({ layers: 3, perLayer: 1 });
  expect(slots.get(0)).toBeUndefined();
  expect(slots.count).toBe(3);
});

test("a line is painted anew for other samples, and not for evicted ones", () => {
  expect(isNewer(missing, undefined)).toBe(true);
  expect(isNewer({ kind: "missing" }, missing)).toBe(true);
  expect(isNewer(missing, missing)).toBe(false);
  expect(isNewer(undefined, missing)).toBe(false);
});

test.each([1, 1.25, 1.5, 2, 3])("strips hold whole cells and cover the window at ratio %d", (ratio) => {
  for (const side of [32, 90, 160, 333]) {
    for (const captions of [0, 16, 48]) {
      const l = layout(700, 731, 1e9, side, captions);
      const middle = 10_000_019;
      for (const line of [0, 1, 2, middle, middle + 1]) {
        const top = stripTop(l, line, ratio);
        const end = stripTop(l, line + 1, ratio);
        expect(top).toBeLessThanOrEqual(lineTop(l, line) * ratio);
        expect(end).toBeGreaterThanOrEqual(Math.floor((lineTop(l, line) + l.cellHeight) * ratio));
        expect(end - top).toBeLessThanOrEqual(Math.ceil(l.stepY * ratio) + 1);
      }
      const sight = linesIn(l, middle * l.stepY + 11, l.height);
      const gap = l.stepY - l.cellHeight;
      const scrolled = Math.round((middle * l.stepY + 11) * ratio);
      expect(stripTop(l, sight.from, ratio) - scrolled).toBeLessThanOrEqual(gap * ratio);
      const below = Math.round(l.height * ratio) - gap * ratio;
      expect(stripTop(l, sight.to, ratio) - scrolled).toBeGreaterThanOrEqual(below - 2);
    }
  }
});
