// Colours of classes: stable, distinct, and readable on dark and on light ground.

export type Rgb = readonly [number, number, number];

/** Colours before they repeat. */
export const colorCount = 4096;
/** Entries of a palette: classes of 16 bits. */
export const paletteSize = 65536;
/** Stands for values that are no class. It is never drawn. */
export const noClass = 65535;

// The golden angle spreads any number of hues evenly.
const goldenAngle = 137.50776405;
const firstHue = 25;

// Neighbouring indices differ in lightness and chroma too, since hues alone come close by and by.
const darkTones: readonly (readonly [number, number])[] = [[0.74, 0.17], [0.86, 0.12], [0.64, 0.2]];
const lightTones: readonly (readonly [number, number])[] = [[0.58, 0.19], [0.46, 0.16], [0.68, 0.15]];

// Colours of one tone 21 indices apart differ by 8 degrees alone, so each 21 are lighter, or darker
// on light ground. Over the first hundred that makes the nearest two 2.2 times as far apart.
const roundLength = 21;
const roundStep = 0.03;
const rounds = 3;

/** The colour of a class, as 0 to 255. */
export function rgbOf(index: number, dark: boolean): Rgb {
  const at = fold(index, colorCount);
  const tones = dark ? darkTones : lightTones;
  const [lightness, chroma] = tones[at % tones.length];
  const shift = roundStep * (Math.floor(at / roundLength) % rounds) * (dark ? 1 : -1);
  return oklchToRgb(lightness + shift, chroma, (firstHue + at * goldenAngle) % 360);
}

/** Returns the colour of a class for CSS. */
export function colorOf(index: number, dark: boolean): string {
  const [r, g, b] = rgbOf(index, dark);
  return `rgb(${r} ${g} ${b})`;
}

/** Returns black or white, whichever is easier to read on a colour. */
export function textOn([r, g, b]: Rgb): Rgb {
  const luminance = 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  // Contrast with black is higher than with white from this luminance on.
  return luminance > 0.179 ? [0, 0, 0] : [255, 255, 255];
}

/** Maps any number to a whole number from 0 to below `size`. */
export function fold(index: number, size: number): number {
  const whole = Math.floor(Number.isFinite(index) ? index : 0) % size;
  return whole < 0 ? whole + size : whole;
}

/** Returns the place of a class in a palette; classes beyond 16 bits share places. */
export function classOf(value: number): number {
  return value < noClass ? fold(value, noClass) : fold(value, noClass - 1) + 1;
}

export const maxPalettes = 32;

/** The content of a palette. */
export interface PaletteState {
  opacity: number;
  hidden: ReadonlySet<number>;
  /** Value 0 is no class. */
  background: boolean;
  /** A ramp of numbers instead of classes. */
  ramp?: boolean;
}

/** Fills a palette of RGBA: hidden classes have alpha 0, all others the opacity. */
export function fillPalette(into: Uint8Array, dark: boolean, opacity: number,
  hidden: ReadonlySet<number>, background: boolean): void {
  const alpha = Math.round(255 * Math.min(1, Math.max(0, opacity)));
  const colors = table(dark);
  for (let at = 0; at < paletteSize; at++) {
    const from = (at % colorCount) * 3;
    into[4 * at] = colors[from];
    into[4 * at + 1] = colors[from + 1];
    into[4 * at + 2] = colors[from + 2];
    into[4 * at + 3] = alpha;
  }
  for (const value of hidden) into[4 * classOf(value) + 3] = 0;
  if (background) into[3] = 0;
  into[4 * noClass + 3] = 0;
}

/** Steps of a ramp of numbers, at the first places of its palette. */
export const rampSteps = 256;
/** The place of values that are no numbers, behind the steps. */
export const noNumber = rampSteps;

/** The colour of a number that lies so far, 0 to 1, between the least and the greatest one. */
export function rampRgb(part: number): Rgb {
  return oklchToRgb(0.45 + 0.4 * part, 0.14, 280 - 200 * part);
}

/** Returns the grey of values without a number or class. */
export function greyOf(dark: boolean): Rgb {
  return dark ? [110, 115, 126] : [150, 155, 165];
}

/** Returns the place of a number in the palette of a ramp from `low` to `high`. */
export function rampPlace(value: number, low: number, high: number): number {
  if (Number.isNaN(value)) return noNumber;
  const part = (value - low) / Math.max(high - low, Number.MIN_VALUE);
  return Math.round((rampSteps - 1) * Math.min(1, Math.max(0, part)));
}

/** Fills a palette of RGBA with a ramp. */
export function fillRamp(into: Uint8Array, dark: boolean, opacity: number): void {
  const alpha = Math.round(255 * Math.min(1, Math.max(0, opacity)));
  into.fill(0);
  for (let step = 0; step <= rampSteps; step++) {
    into.set(step === noNumber ? greyOf(dark) : rampRgb(step / (rampSteps - 1)), 4 * step);
    into[4 * step + 3] = alpha;
  }
}

const tables: (Uint8Array | undefined)[] = [];

function table(dark: boolean): Uint8Array {
  const at = dark ? 1 : 0;
  let colors = tables[at];
  if (!colors) {
    colors = new Uint8Array(3 * colorCount);
    for (let i = 0; i < colorCount; i++) colors.set(rgbOf(i, dark), 3 * i);
    tables[at] = colors;
  }
  return colors;
}

/** Converts OKLCH to sRGB; chroma that sRGB cannot show is reduced until it can. */
export function oklchToRgb(lightness: number, chroma: number, hue: number): Rgb {
  const angle = hue * Math.PI / 180;
  for (let c = chroma; c > 0.004; c *= 0.95) {
    const rgb = oklabToLinear(lightness, c * Math.cos(angle), c * Math.sin(angle));
    if (rgb.every((value) => value >= -1e-4 && value <= 1.0001)) return encode(rgb);
  }
  return encode(oklabToLinear(lightness, 0, 0));
}

function oklabToLinear(lightness: number, a: number, b: number): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

/** Converts sRGB to OKLab, in which distances match perceived differences. */
export function rgbToOklab([r, g, b]: Rgb): Rgb {
  const [x, y, z] = [linear(r / 255), linear(g / 255), linear(b / 255)];
  const l = Math.cbrt(0.4122214708 * x + 0.5363325363 * y + 0.0514459929 * z);
  const m = Math.cbrt(0.2119034982 * x + 0.6806995451 * y + 0.1073969566 * z);
  const s = Math.cbrt(0.0883024619 * x + 0.2817188376 * y + 0.6299787005 * z);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function encode(rgb: Rgb): Rgb {
  const one = (value: number): number => {
    const v = Math.min(1, Math.max(0, value));
    return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
  };
  return [one(rgb[0]), one(rgb[1]), one(rgb[2])];
}

function linear(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}
