import { expect, test } from "vitest";
import { randomOf } from "../../data/testing";
import type { Rect } from "../geometry";
import { tagAt } from "./tags";

const cell: Rect = { x: 100, y: 0, width: 200, height: 200 };
const size = { width: 60, height: 16 };
const box = (x: number, y: number, width: number, height: number): Rect => ({ x, y, width, height });

test.each([
  ["in a large box", box(110, 40, 100, 100), [], { x: 110, y: 40 }],
  ["shifted at the right edge", box(270, 40, 30, 100), [], { x: 240, y: 24 }],
  ["above a small box", box(110, 40, 10, 10), [], { x: 110, y: 24 }],
  ["below a small box at the top", box(110, 2, 10, 10), [], { x: 110, y: 12 }],
  ["above, where another tag is in the box", box(110, 40, 100, 100), [box(120, 40, 60, 16)], { x: 110, y: 24 }],
  ["nowhere, where both are taken", box(110, 40, 100, 100), [box(120, 24, 60, 40)], undefined],
  ["nowhere outside of the cell", box(110, 195, 100, 100), [box(100, 179, 200, 16)], undefined],
])("a tag stands %s", (_, at, others, place) => expect(tagAt(at, size, cell, others)).toEqual(place));

test("tags stay in the cell and cover no others", () => {
  const random = randomOf(4);
  const tags: Rect[] = [];
  for (let i = 0; i < 300; i++) {
    const one = { width: 10 + random() * 120, height: 16 };
    const at = tagAt(box(90 + random() * 220, random() * 220 - 10, random() * 90, random() * 90), one, cell, tags);
    if (at) tags.push({ ...one, ...at });
  }
  expect(tags.length).toBeGreaterThan(10);
  tags.forEach((a, i) => {
    expect(a.x >= 100 && a.x + a.width <= 300 && a.y >= 0 && a.y + a.height <= 200).toBe(true);
    for (const b of tags.slice(0, i)) {
      expect(a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height).toBe(false);
    }
  });
});
