import { describe, expect, it } from "vitest";
import { cellRect, fit, layout, linesIn, rowAt, rowsOf, scrollToShow } from "./geometry";

const windows = [[1280, 800], [360, 640], [20, 20], [3000, 200]] as const;

describe("the grid", () => {
  it.each([0, 1, 7, 100_000, 1_000_000_000])("shows any of %i rows", (rows) => {
    for (const [width, height] of windows) {
      for (const cell of [32, 160, 1024]) {
        const l = layout(width, height, rows, cell, 0);
        for (const row of [0, 1, rows >> 1, rows - 1]) {
          if (row < 0 || row >= rows) continue;
          const scroll = scrollToShow(l, 0, row);
          const span = rowsOf(l, linesIn(l, scroll, height));
          expect(row).toBeGreaterThanOrEqual(span.from);
          expect(row).toBeLessThan(span.to);
          const rect = cellRect(l, scroll, row);
          expect(rowAt(l, scroll, rect.x + rect.width / 2, rect.y + rect.height / 2)).toBe(row);
        }
      }
    }
  });

  it("fits pictures without distortion", () => {
    for (const [w, h] of [[100, 50], [50, 100], [1, 1000], [4000, 3000]] as const) {
      const r = fit(w, h, { x: 10, y: 20, width: 160, height: 160 });
      expect(r.width / r.height).toBeCloseTo(w / h, 5);
      expect(r.width).toBeLessThanOrEqual(160.001);
      expect(r.height).toBeLessThanOrEqual(160.001);
      expect(r.x + r.width / 2).toBeCloseTo(90, 0);
    }
  });
});
