// The range of values of a picture, for the sliders that map values to black and white.

import type { Sample } from "../../data/samples";
import type { Range } from "../../draw/pixels";

const most = 1 << 18;

/** Returns the range of the values of a picture; null: its values are shown unchanged. */
export function rangeOf(sample: Sample | undefined): Range | null {
  if (sample?.kind !== "array" || sample.dtype === "uint8" || sample.dtype === "bool") return null;
  const { data } = sample;
  // Values at even distances are enough for the ends of a slider.
  const step = Math.max(1, Math.floor(data.length / most));
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < data.length; i += step) {
    const value = Number(data[i]);
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low < high ? { low, high } : null;
}

/** Returns the ends of the sliders: the range of a row, widened by a choice at another row. */
export function endsOf(range: Range, chosen: Range | undefined): Range {
  if (!chosen) return range;
  return { low: Math.min(range.low, chosen.low), high: Math.max(range.high, chosen.high) };
}

/** Returns the item of a sequence, or the sample itself. */
export function itemOf(sample: Sample | undefined, item: number): Sample | undefined {
  return sample?.kind === "items" ? sample.items[item] : sample;
}

/** Returns the item that a player shows next: it waits for one that has not come. */
export function nextItem(sample: Sample | undefined, item: number): number {
  if (sample?.kind !== "items" || sample.count < 2) return item;
  const next = (item + 1) % sample.count;
  return sample.items[next] ? next : item;
}

/** Returns the value of a picture at a point, as text; "" if it is not known there. */
export function valueAt(sample: Sample | undefined, x: number, y: number): string {
  if (sample?.kind !== "array") return "";
  const [height, width] = sample.shape;
  if (sample.width !== undefined && sample.width !== width) return "";
  const column = Math.floor(x);
  const line = Math.floor(y);
  if (column < 0 || line < 0 || column >= width || line >= height) return "";
  const channels = sample.shape.length > 2 ? sample.shape[2] : 1;
  const at = (line * width + column) * channels;
  const values: string[] = [];
  for (let i = 0; i < Math.min(channels, 8); i++) values.push(String(sample.data[at + i]));
  return values.join(", ");
}
