import { describe, expect, test } from "vitest";
import {
  classOf, colorOf, fillPalette, fillRamp, noClass, noNumber, oklchToRgb, rampRgb, rampSteps, paletteSize, type Rgb, rgbOf, rgbToOklab, textOn,
} from "./colors";

const distance = (a: Rgb, b: Rgb): number => {
  const [x, y] = [rgbToOklab(a), rgbToOklab(b)];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
};

const contrast = (a: Rgb, b: Rgb): number => {
  const luminance = (rgb: Rgb): number => {
    const [r, g, bl] = rgb.map((v) =>
      v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
  };
  const [l, d] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (l + 0.05) / (d + 0.05);
};

describe.each([[true], [false]])("dark %s", (dark) => {
  test("the first 20 colours are well apart, the first 100 different", () => {
    for (const [count, least] of [[20, 0.06], [100, 0.012]]) {
      let nearest = Infinity;
      for (let i = 0; i < count; i++) {
        for (let j = 0; j < i; j++) nearest = Math.min(nearest, distance(rgbOf(i, dark), rgbOf(j, dark)));
      }
      expect(nearest).toBeGreaterThan(least);
    }
  });
  test("each colour stands out from the ground", () => {
    const ground: Rgb = dark ? [18, 19, 22] : [250, 250, 251];
    for (let i = 0; i < 300; i++) {
      expect(contrast(rgbOf(i, dark), ground)).toBeGreaterThan(dark ? 4.5 : 2.4);
    }
  });
  test("text on a colour can be read", () => {
    for (let i = 0; i < 300; i++) {
      expect(contrast(textOn(rgbOf(i, dark)), rgbOf(i, dark))).toBeGreaterThan(4.5);
    }
  });
});

test("colours are stable, and any number has one", () => {
  expect(colorOf(0, true)).toBe(colorOf(0, true));
  expect(colorOf(4096, true)).toBe(colorOf(0, true));
  for (const index of [-1, 0.5, 1e300, NaN, Infinity, -Infinity, 2 ** 31]) {
    expect(colorOf(index, false)).toMatch(/^rgb\(\d+ \d+ \d+\)$/);
  }
});

test("OKLCH of known colours", () => {
  expect(oklchToRgb(1, 0, 0)).toEqual([255, 255, 255]);
  expect(oklchToRgb(0, 0, 0)).toEqual([0, 0, 0]);
  const [r, g, b] = oklchToRgb(0.62796, 0.25768, 29.234);
  expect([r > 250, g < 12, b < 12]).toEqual([true, true, true]);
  expect(rgbToOklab([255, 255, 255])[0]).toBeCloseTo(1, 4);
});

test.each([
  [0, 0], [65534, 65534], [65535, 2], [70000, 4467], [2 ** 40, classOf(2 ** 40)],
])("class %d is at %d", (value, place) => {
  expect(classOf(value)).toBe(place);
  expect(classOf(value)).toBeLessThan(noClass);
});

test("classes beyond 16 bits never share the place of the background", () => {
  for (let i = 0; i < 1000; i++) expect(classOf(65535 + i * 65534)).toBeGreaterThan(0);
});

test("a palette hides classes, and has the opacity of its layer", () => {
  const palette = new Uint8Array(4 * paletteSize);
  fillPalette(palette, true, 0.5, new Set([3, 70000]), true);
  const alpha = (at: number): number => palette[4 * at + 3];
  expect([alpha(0), alpha(1), alpha(3), alpha(classOf(70000)), alpha(noClass)])
    .toEqual([0, 128, 0, 0, 0]);
  expect([...palette.subarray(4, 7)]).toEqual([...rgbOf(1, true)]);
  fillPalette(palette, false, 7, new Set(), false);
  expect([alpha(0), alpha(3), alpha(noClass)]).toEqual([255, 255, 0]);
});

// TestClassColours of core/viz/draw has the same values.
test.each([
  [0, [253, 128, 121], [211, 58, 60]],
  [1, [129, 234, 186], [13, 104, 72]],
  [7, [189, 208, 255], [49, 78, 176]],
  [21, [252, 147, 125], [200, 51, 22]],
  [64, [99, 235, 220], [11, 102, 94]],
  [4095, [222, 157, 1], [160, 112, 2]],
  [4096, [253, 128, 121], [211, 58, 60]],
  [65534, [180, 126, 250], [151, 109, 209]],
  [65535, [161, 103, 241], [167, 128, 230]],
  [70000, [142, 145, 252], [119, 120, 222]],
  [-1, [180, 126, 250], [151, 109, 209]],
  [0.5, [253, 128, 121], [211, 58, 60]],
])("the colours of class %d", (value, dark, light) => {
  expect(rgbOf(classOf(value), true)).toEqual(dark);
  expect(rgbOf(classOf(value), false)).toEqual(light);
});

test("a ramp grows lighter, and has grey for no number", () => {
  const into = new Uint8Array(4 * paletteSize);
  fillRamp(into, true, 0.5);
  const at = (place: number): number[] => [...into.subarray(4 * place, 4 * place + 4)];
  expect(at(0)).toEqual([...rampRgb(0), 128]);
  expect(at(rampSteps - 1)).toEqual([...rampRgb(1), 128]);
  expect(at(noNumber)[3]).toBe(128);
  expect(at(noClass)[3]).toBe(0);
  const lightness = (place: number): number => rgbToOklab(at(place).slice(0, 3) as unknown as Rgb)[0];
  for (let place = 16; place < rampSteps; place += 16) expect(lightness(place)).toBeGreaterThan(lightness(place - 16));
});
