// Chooses the layers that are drawn at first, and changes their appearance.

import type { Tensor, View } from "../../data/protocol";
import type { Layer } from "../../draw/api";

const none: ReadonlySet<number> = new Set();
export const plainLayer: Readonly<Layer> = Object.freeze({ visible: true, opacity: 0.6, hidden: none });

/** Returns a layer by name. Names come from a dataset and may be those of object properties. */
export function layerOf(layers: Readonly<Record<string, Layer>>, name: string): Readonly<Layer> {
  return Object.hasOwn(layers, name) ? layers[name] : plainLayer;
}

export function withLayer(layers: Readonly<Record<string, Layer>>, name: string,
  change: Partial<Layer>): Record<string, Layer> {
  const entries = new Map(Object.entries(layers));
  entries.set(name, { ...layerOf(layers, name), ...change });
  // fromEntries defines properties, so that a tensor named __proto__ is one.
  return Object.fromEntries(entries);
}

export function hiddenNames(layers: Readonly<Record<string, Layer>>): string[] {
  return Object.keys(layers).filter((name) => !layers[name].visible).sort();
}

/** Gives each tensor of a view an entry, so that a change of one property keeps the others. */
export function withDefaults(view: View, layers: Readonly<Record<string, Layer>>,
  opacity: (tensor: Tensor) => number): Record<string, Layer> {
  const entries = new Map(Object.entries(layers));
  for (const tensor of view.tensors) {
    if (!entries.has(tensor.name)) entries.set(tensor.name, { ...plainLayer, opacity: opacity(tensor) });
  }
  return Object.fromEntries(entries);
}

/** Returns the layers with exactly these tensors hidden. */
export function hideOnly(layers: Readonly<Record<string, Layer>>, names: readonly string[]):
Record<string, Layer> {
  const hidden = new Set(names);
  const entries = new Map(Object.entries(layers));
  for (const [name, layer] of entries) {
    if (!layer.visible !== hidden.has(name)) entries.set(name, { ...layer, visible: !hidden.has(name) });
  }
  for (const name of hidden) {
    if (!entries.has(name)) entries.set(name, { ...plainLayer, visible: false });
  }
  return Object.fromEntries(entries);
}
