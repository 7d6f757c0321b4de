// Turns arrays into the texels of textures, and makes them smaller on the way.

import type { Sample } from "../data/samples";
import { codeOf, numbersOf } from "./shapes";

type ArraySample = Extract<Sample, { kind: "array" }>;

export interface Raster {
  width: number;
  height: number;
  channels: number;
}

export interface Texels<Data> {
  width: number;
  height: number;
  data: Data;
}

/**
 * Returns the raster of an array of (height, width) or (height, width, channels); else undefined.
 */
export function rasterOf(sample: Sample): Raster | undefined {
  if (sample.kind !== "array") return undefined;
  const [height, width, channels = 1] = sample.shape;
  if (sample.shape.length < 2 || sample.shape.length > 3) return undefined;
  if (!(height > 0 && width > 0 && channels > 0)) return undefined;
  return { width, height, channels };
}

/**
 * Returns the size to which annotations of a picture or mask refer; undefined: it is no picture.
 */
export function sizeOf(sample: Sample): { width: number; height: number } | undefined {
  if (sample.kind === "picture") return { width: sample.width, height: sample.height };
  const raster = rasterOf(sample);
  if (!raster || sample.kind !== "array") return undefined;
  return { width: sample.width ?? raster.width, height: sample.height ?? raster.height };
}

/** Returns the size of a raster once its longer side has at most so many texels. */
export function reduced(width: number, height: number, side: number): { width: number; height: number } {
  const scale = Math.min(1, side / Math.max(width, height));
  return {
    width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)),
  };
}

export interface Range {
  low: number;
  high: number;
}

const rangeSteps = 1 << 22;

/** Returns the least and the greatest finite number; very large arrays are sampled. */
export function rangeOf(numbers: ArrayLike<number>): Range {
  let low = Infinity;
  let high = -Infinity;
  const step = Math.max(1, Math.floor(numbers.length / rangeSteps));
  for (let i = 0; i < numbers.length; i += step) {
    const value = numbers[i];
    if (value < low && value !== -Infinity) low = value;
    if (value > high && value !== Infinity) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 1 };
}

/** Returns the range of values that maps to black and white unless a window is set. */
export function defaultRange(sample: ArraySample): Range {
  if (sample.dtype === "bool") return { low: 0, high: 1 };
  if (sample.dtype === "uint8") return { low: 0, high: 255 };
  const numbers = numbersOf(sample) ?? [];
  return rangeOf(numbers);
}

/** Channels that are drawn: grey, colour, or colour and alpha. Of others, the first ones. */
export function drawnChannels(channels: number): 1 | 3 | 4 {
  return channels === 4 ? 4 : channels >= 3 ? 3 : 1;
}

/** Makes 8-bit RGBA of an array, with colours premultiplied by alpha. */
export function toRgba(sample: ArraySample, side: number, range = defaultRange(sample)):
  Texels<Uint8Array> | undefined {
  const raster = rasterOf(sample);
  const numbers = numbersOf(sample);
  if (!raster || !numbers) return undefined;
  const { width, height } = reduced(raster.width, raster.height, side);
  const data = new Uint8Array(4 * width * height);
  const { channels } = raster;
  const drawn = drawnChannels(channels);
  const factor = range.high > range.low ? 255 / (range.high - range.low) : 0;
  let to = 0;
  for (let y = 0; y < height; y++) {
    const line = sourceOf(y, height, raster.height) * raster.width;
    for (let x = 0; x < width; x++, to += 4) {
      const from = (line + sourceOf(x, width, raster.width)) * channels;
      const alpha = drawn === 4 ? byteOf((numbers[from + 3] - range.low) * factor) : 255;
      for (let c = 0; c < 3; c++) {
        const value = byteOf((numbers[from + (drawn === 1 ? 0 : c)] - range.low) * factor);
        data[to + c] = alpha === 255 ? value : Math.round(value * alpha / 255);
      }
      data[to + 3] = alpha;
    }
  }
  return { width, height, data };
}

/** Makes 32-bit texels of one or four channels, for a window that the shader applies. */
export function toFloats(sample: ArraySample, side: number):
  (Texels<Float32Array> & { channels: 1 | 4 }) | undefined {
  const raster = rasterOf(sample);
  const numbers = numbersOf(sample);
  if (!raster || !numbers) return undefined;
  const { width, height } = reduced(raster.width, raster.height, side);
  const drawn = drawnChannels(raster.channels);
  const channels = drawn === 1 ? 1 : 4;
  const data = new Float32Array(channels * width * height);
  let to = 0;
  for (let y = 0; y < height; y++) {
    const line = sourceOf(y, height, raster.height) * raster.width;
    for (let x = 0; x < width; x++) {
      const from = (line + sourceOf(x, width, raster.width)) * raster.channels;
      for (let c = 0; c < channels; c++) {
        // Alpha of numbers that are not bytes has no known range: such pictures are opaque.
        data[to++] = c === 3 ? 1 : numbers[from + c];
      }
    }
  }
  return { width, height, data, channels };
}

/** Makes codes of classes or instances. Of several planes, the last one with a value counts. */
export function toSegments(sample: ArraySample, side: number):
  Texels<Uint8Array | Uint16Array> | undefined {
  const raster = rasterOf(sample);
  const numbers = numbersOf(sample);
  if (!raster || !numbers) return undefined;
  const { width, height } = reduced(raster.width, raster.height, side);
  const { channels } = raster;
  const bytes = sample.dtype === "uint8" || sample.dtype === "bool";
  const data = bytes ? new Uint8Array(width * height) : new Uint16Array(width * height);
  let to = 0;
  for (let y = 0; y < height; y++) {
    const line = sourceOf(y, height, raster.height) * raster.width;
    for (let x = 0; x < width; x++, to++) {
      const value = topValue(numbers, (line + sourceOf(x, width, raster.width)) * channels, channels);
      data[to] = bytes ? value : codeOf(value);
    }
  }
  return { width, height, data };
}

/** Returns the value of the last plane that is not 0. */
export function topValue(numbers: ArrayLike<number>, at: number, planes: number): number {
  for (let plane = planes - 1; plane > 0; plane--) {
    if (numbers[at + plane] !== 0) return numbers[at + plane];
  }
  return numbers[at];
}

export const planesOfGroup = 32;
/** Masks of one sample that are drawn. */
export const maxPlanes = 256;

/** One bit for each mask of (height, width, masks), for 32 masks from `first` on. */
export function toBits(sample: ArraySample, side: number, first: number):
  Texels<Uint32Array> | undefined {
  const raster = rasterOf(sample);
  const numbers = numbersOf(sample);
  if (!raster || !numbers || first >= raster.channels) return undefined;
  const { width, height } = reduced(raster.width, raster.height, side);
  const data = new Uint32Array(width * height);
  const planes = Math.min(planesOfGroup, raster.channels - first);
  let to = 0;
  for (let y = 0; y < height; y++) {
    const line = sourceOf(y, height, raster.height) * raster.width;
    for (let x = 0; x < width; x++, to++) {
      const from = (line + sourceOf(x, width, raster.width)) * raster.channels + first;
      let bits = 0;
      for (let plane = 0; plane < planes; plane++) if (numbers[from + plane]) bits |= 1 << plane;
      data[to] = bits;
    }
  }
  return { width, height, data };
}

/** Returns the element of `whole` in whose middle element `at` of `part` lies. */
function sourceOf(at: number, part: number, whole: number): number {
  return part === whole ? at : Math.min(whole - 1, Math.floor((at + 0.5) * whole / part));
}

function byteOf(value: number): number {
  return value >= 255 ? 255 : value > 0 ? Math.round(value) : 0;
}
