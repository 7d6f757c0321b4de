import { describe, expect, test } from "vitest";
import { randomOf, wholeOf } from "../data/testing";
import {
  cellRect, fit, inside, keepInSight, keepRow, layout, linesIn, lineTop, rowAt, rowOfKey, rowsOf,
  scrollbarWidth, scrollOfThumb, scrollToShow, thumb, thumbnailSize, toPicture, zoomAt, zoomToFit,
} from "./geometry";

test.each([
  // width, height, rows, cell: columns, lines
  [1000, 800, 0, 160, 5, 0],
  [1000, 800, 1, 160, 5, 1],
  [1000, 800, 5, 160, 5, 1],
  [1000, 800, 6, 160, 5, 2],
  [1000, 800, 10_000_000, 160, 5, 2_000_000],
  [1000, 800, 1_000_000_000, 32, 29, 34_482_759],
  [300, 800, 7, 1024, 1, 7],
  [1, 1, 3, 160, 1, 3],
  [0, 0, 3, 160, 1, 3],
])("layout of %i x %i, %i rows, cells of %i", (width, height, rows, cell, columns, lines) => {
  const l = layout(width, height, rows, cell, 0);
  expect([l.columns, l.lines]).toEqual([columns, lines]);
  expect(l.cell).toBeGreaterThan(0);
});

test("a cell larger than the window is made as wide as the window", () => {
  const l = layout(300, 200, 10, 1024, 16);
  expect(l.cell).toBeLessThanOrEqual(300 - scrollbarWidth);
  expect(cellRect(l, 0, 0).x + l.cell).toBeLessThanOrEqual(300 - scrollbarWidth);
});

function randomLayout(random: () => number): ReturnType<typeof layout> {
  const rows = Math.floor(10 ** (random() * 9));
  return layout(50 + wholeOf(random, 3000), 50 + wholeOf(random, 2000), rows,
    32 + wholeOf(random, 993), 16 * wholeOf(random, 4));
}

test("every row in sight is found at its own cell, up to a billion rows", () => {
  const random = randomOf(1);
  for (let round = 0; round < 500; round++) {
    const l = randomLayout(random);
    const scroll = random() * l.maxScroll;
    const rows = rowsOf(l, linesIn(l, scroll, l.height));
    for (let n = 0; n < 5; n++) {
      const row = rows.from + wholeOf(random, rows.to - rows.from);
      const r = cellRect(l, scroll, row);
      expect(rowAt(l, scroll, r.x + r.width / 2, r.y + r.height / 2)).toBe(row);
      expect(r.x).toBeGreaterThanOrEqual(0);
      expect(r.y < l.height && r.y + r.height > -l.stepY).toBe(true);
    }
    expect(rowAt(l, scroll, -5, 10)).toBe(-1);
    const last = cellRect(l, l.maxScroll, l.rows - 1);
    expect(last.y + last.height).toBeLessThanOrEqual(Math.max(l.height, last.height + l.stepY) + 1e-3);
  }
});

test("places stay exact at the end of a billion rows", () => {
  const l = layout(300, 800, 1e9, 1024, 48);
  const first = cellRect(l, l.maxScroll, l.rows - 2);
  const second = cellRect(l, l.maxScroll, l.rows - 1);
  expect(second.y - first.y).toBe(l.stepY);
  expect(Number.isSafeInteger(l.total)).toBe(true);
});

test("lines in sight cover the window and no more", () => {
  const random = randomOf(2);
  for (let round = 0; round < 500; round++) {
    const l = randomLayout(random);
    const scroll = random() * l.maxScroll;
    const { from, to } = linesIn(l, scroll, l.height);
    expect(from * l.stepY).toBeLessThanOrEqual(scroll + 1e-6);
    const gap = l.stepY - l.cellHeight; // above each cell: alone it shows nothing of the line
    expect(to === l.lines || to * l.stepY + gap >= scroll + l.height - 1e-6).toBe(true);
    expect(to - from).toBeLessThanOrEqual(Math.ceil(l.height / l.stepY) + 1);
  }
  expect(linesIn(layout(500, 500, 0, 100, 0), 0, 500)).toEqual({ from: 0, to: 0 });
});

test("scrollToShow shows the row, and moves only as far as it must", () => {
  const random = randomOf(3);
  for (let round = 0; round < 500; round++) {
    const l = randomLayout(random);
    const scroll = random() * l.maxScroll;
    const row = wholeOf(random, l.rows);
    const to = scrollToShow(l, scroll, row);
    expect(to).toBeGreaterThanOrEqual(0);
    expect(to).toBeLessThanOrEqual(l.maxScroll);
    const { y, height } = cellRect(l, to, row);
    if (l.height >= 2 * l.stepY) {
      expect(y).toBeGreaterThanOrEqual(-1e-3);
      expect(y + height).toBeLessThanOrEqual(l.height + 1e-3);
    } else {
      expect(y < l.height && y + height > 0).toBe(true);
    }
    expect(scrollToShow(l, to, row)).toBeCloseTo(to, 3);
  }
});

test("a change of the cell keeps a row where it is", () => {
  const before = layout(1000, 800, 1e6, 100, 0);
  const after = layout(1000, 800, 1e6, 300, 48);
  const scroll = 12345;
  const row = rowAt(before, scroll, 400, 400);
  expect(row).toBeGreaterThan(0);
  const next = keepRow(before, scroll, after, row);
  expect(cellRect(after, next, row).y).toBeCloseTo(cellRect(before, scroll, row).y);
  expect(keepRow(before, 0, after, 0)).toBe(0);
  expect(lineTop(before, 0)).toBe(4);
});

test("thumb and scroll position belong together", () => {
  const random = randomOf(4);
  for (let round = 0; round < 500; round++) {
    const l = randomLayout(random);
    const scroll = random() * l.maxScroll;
    const bar = thumb(l, scroll);
    if (!bar) {
      expect(l.total).toBeLessThanOrEqual(l.height);
      continue;
    }
    expect(bar.y).toBeGreaterThanOrEqual(0);
    expect(bar.y + bar.height).toBeLessThanOrEqual(l.height + 1e-9);
    if (l.height > 100) expect(bar.height).toBeGreaterThanOrEqual(28);
    if (l.height > bar.height) {
      expect(Math.abs(scrollOfThumb(l, bar.y) - scroll)).toBeLessThanOrEqual(1e-9 * l.total + 1e-6);
    }
    expect(scrollOfThumb(l, -100)).toBe(0);
  }
  expect(thumb(layout(500, 500, 0, 100, 0), 0)).toBeUndefined();
});

describe("keys", () => {
  const l = layout(1000, 400, 23, 160, 0); // 5 columns, 2 lines a page
  test.each([
    ["ArrowLeft", 0, 0], ["ArrowLeft", 5, 4], ["ArrowRight", 22, 22], ["ArrowRight", 4, 5],
    ["ArrowUp", 3, 3], ["ArrowUp", 7, 2], ["ArrowDown", 7, 12], ["ArrowDown", 19, 22],
    ["ArrowDown", 21, 21], ["PageDown", 3, 13], ["PageDown", 20, 22], ["PageUp", 13, 3],
    ["PageUp", 7, 2], ["Home", 20, 0], ["End", 0, 22], ["a", 3, undefined],
  ])("%s from %i", (key, from, to) => expect(rowOfKey(l, key, from)).toBe(to));
  test("without rows there is nowhere to go", () => {
    expect(rowOfKey(layout(100, 100, 0, 160, 0), "End", 0)).toBeUndefined();
  });
});

test.each([
  [100, 50, { x: 0, y: 25, width: 100, height: 50 }],
  [50, 200, { x: 37.5, y: 0, width: 25, height: 100 }],
  [1, 1_000_000, { x: 49.99995, y: 0, width: 0.0001, height: 100 }],
  [0, 50, { x: 0, y: 0, width: 0, height: 0 }],
  [NaN, 50, { x: 0, y: 0, width: 0, height: 0 }],
])("a picture of %d x %d fits", (width, height, place) => {
  const got = fit(width, height, { x: 0, y: 0, width: 100, height: 100 });
  for (const key of ["x", "y", "width", "height"] as const) expect(got[key]).toBeCloseTo(place[key], 6);
});

test.each([
  [32, 1, 64], [64, 1, 64], [65, 1, 128], [160, 1, 256], [160, 1.5, 256], [160, 2, 512],
  [1024, 1, 1024], [1024, 2, 1024],
])("thumbnails for a cell of %i at ratio %d", (cell, ratio, size) => {
  expect(thumbnailSize(cell, ratio)).toBe(size);
});

test("zoom keeps the point under the pointer", () => {
  const random = randomOf(5);
  for (let round = 0; round < 500; round++) {
    const zoom = { scale: 0.01 + random() * 10, x: random() * 100, y: random() * 100 };
    const [x, y] = [random() * 500, random() * 500];
    const next = zoomAt(zoom, random() * 4, x, y, 0.01, 64);
    expect(next.scale).toBeGreaterThanOrEqual(0.01);
    expect(next.scale).toBeLessThanOrEqual(64);
    const a = toPicture(zoom, x, y);
    const b = toPicture(next, x, y);
    expect(Math.abs(a.x - b.x) + Math.abs(a.y - b.y)).toBeLessThan(1e-6 * (1 + Math.abs(a.x) + Math.abs(a.y)));
  }
});

test("a fitted picture is whole and in the middle; a panned one stays in sight", () => {
  for (const [width, height] of [[4000, 3000], [10, 2000], [1, 1]]) {
    const zoom = zoomToFit(width, height, 800, 600);
    expect(zoom.x).toBeGreaterThanOrEqual(0);
    expect(zoom.y).toBeGreaterThanOrEqual(0);
    expect(zoom.x * 2 + width * zoom.scale).toBeCloseTo(800);
    expect(zoom.y * 2 + height * zoom.scale).toBeCloseTo(600);
    const away = keepInSight({ ...zoom, x: 1e9, y: -1e9 }, width, height, 800, 600);
    expect(away.x).toBeLessThan(800);
    expect(away.y + height * zoom.scale).toBeGreaterThan(0);
  }
  expect(inside({ x: 0, y: 0, width: 1, height: 1 }, 1, 0)).toBe(false);
});
