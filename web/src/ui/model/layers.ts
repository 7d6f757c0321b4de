// Chooses the layers that are drawn at first, and changes their appearance.

import type { Tensor, View } from "../../data/protocol";
import type { Layer } from "../../draw/api";
import { isMask } from "../../draw/plan";
import type { Mode } from "./place";

const none: ReadonlySet<number> = new Set();
export const plainLayer: Readonly<Layer> = Object.freeze({ visible: true, opacity: 0.6, hidden: none });

export function isPicture(tensor: Tensor): boolean {
  return tensor.draw === "image";
}

/** The tensors that cells can show: pictures, and where there are none, masks. */
export function picturesOf(view: View): Tensor[] {
  const pictures = view.tensors.filter((tensor) => tensor.role === "primary" && isPicture(tensor));
  return pictures.length > 0 ? pictures : view.tensors.filter(isMask);
}

/** The picture tensor of a cell: `wanted` if it exists, else the first one. */
export function choosePrimary(view: View, wanted = ""): string {
  const pictures = picturesOf(view);
  return (pictures.find((tensor) => tensor.name === wanted) ?? pictures[0])?.name ?? "";
}

/** The mode in effect: a dataset without pictures is a table unless a mode is chosen. */
export function modeOf(mode: Mode, primary: string): Exclude<Mode, ""> {
  return mode === "" ? (primary === "" ? "table" : "grid") : mode;
}

/** A layer by name. Names come from a dataset and may be those of object properties. */
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

/** Layers with exactly these tensors hidden. */
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

const classDraws: ReadonlySet<string> = new Set(
  ["label", "segments", "boxes", "mask", "polygons", "keypoints"]);

/** Tensors whose classes can be hidden. */
export function hasClasses(tensor: Tensor): boolean {
  return tensor.class_names.length > 0 && classDraws.has(tensor.draw);
}

/** Tensors that statistics are shown for. */
export function hasStats(tensor: Tensor): boolean {
  return tensor.draw === "label" || tensor.draw === "number" || tensor.draw === "text" ||
    tensor.draw === "segments" && tensor.class_names.length > 0;
}

const smallElements = 4096;

/** Reports whether values are small enough to be requested for each selected row. */
export function isSmall(tensor: Tensor): boolean {
  if (isPicture(tensor) || isMask(tensor)) return false;
  if (tensor.sequence) return false;
  if (["label", "text", "json", "number", "boxes", "keypoints", "points", "polygons"]
    .includes(tensor.draw)) return true;
  const shape = tensor.max_shape ?? tensor.shape;
  if (!shape) return false;
  return shape.every((side) => side >= 0) && shape.reduce((n, side) => n * side, 1) <= smallElements;
}
