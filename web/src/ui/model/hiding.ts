// Classes that are not drawn: from the layers to the address, and back.

import type { Layer } from "../../draw/api";
import { hideOnly, layerOf, withLayer } from "./layers";

/** The hidden classes of one tensor, in ascending order. */
export interface HiddenClasses {
  name: string;
  values: number[];
}

const mostTensors = 100;
const mostRanges = 1000;
const mostValues = 100_000;

/** Formats as "name:0-4,7". The name comes first, as it may have any character in it. */
export function formatHidden({ name, values }: HiddenClasses): string {
  const ranges: string[] = [];
  for (let i = 0; i < values.length && ranges.length < mostRanges; i++) {
    const from = values[i];
    while (values[i + 1] === values[i] + 1) i++;
    ranges.push(values[i] === from ? String(from) : `${from}-${values[i]}`);
  }
  return `${name}:${ranges.join(",")}`;
}

/** Reads texts of formatHidden. Parts that make no sense are left out. */
export function parseHidden(texts: readonly string[]): HiddenClasses[] {
  const found = new Map<string, number[]>();
  for (const text of texts.slice(0, mostTensors)) {
    const colon = text.lastIndexOf(":");
    const values = colon < 1 ? [] : parseRanges(text.slice(colon + 1));
    if (values.length > 0) found.set(text.slice(0, colon), values);
  }
  return [...found].map(([name, values]) => ({ name, values }));
}

function parseRanges(text: string): number[] {
  const values = new Set<number>();
  for (const range of text.split(",", mostRanges)) {
    const match = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(range);
    if (!match) continue;
    const to = Number(match[2] ?? match[1]);
    for (let value = Number(match[1]); value <= to && values.size < mostValues; value++) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

/** Returns the classes that the layers hide, for the address. */
export function hiddenClasses(layers: Readonly<Record<string, Layer>>): HiddenClasses[] {
  return Object.keys(layers).filter((name) => layers[name].hidden.size > 0).sort()
    .map((name) => ({ name, values: [...layers[name].hidden].sort((a, b) => a - b) }));
}

/** Returns layers that hide exactly these classes. An unchanged layer stays the same object. */
export function hideClasses(layers: Readonly<Record<string, Layer>>, hidden: readonly HiddenClasses[]):
Record<string, Layer> {
  const wanted = new Map(hidden.map(({ name, values }) => [name, values]));
  let changed: Record<string, Layer> = layers;
  for (const name of new Set([...Object.keys(layers), ...wanted.keys()])) {
    const values = wanted.get(name) ?? [];
    const now = layerOf(layers, name).hidden;
    if (now.size === values.length && values.every((value) => now.has(value))) continue;
    changed = withLayer(changed, name, { hidden: new Set(values) });
  }
  return changed;
}

/** Returns the layers with the tensors and classes hidden that a place hides. */
export function layersAt(layers: Readonly<Record<string, Layer>>,
  place: { hidden: readonly string[]; classes: readonly HiddenClasses[] }): Record<string, Layer> {
  return hideClasses(hideOnly(layers, place.hidden), place.classes);
}
