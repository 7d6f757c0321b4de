// Plans the drawing from tensors and their appearance: pictures, overlays and captions.

import type { Appearance, Layer, Sample, Tensor, View } from "./api";
import { maxPalettes, type PaletteState } from "./palettes";
import { numbersOf } from "./shapes";
import { plain } from "./texts";

export interface Overlay {
  tensor: Tensor;
  /** Tensors whose labels may name the instances: those of the same group. */
  labels: Tensor[];
  palette: number;
  visible: boolean;
}

export interface Plan {
  primary: Tensor | undefined;
  /** The primary tensor is drawn as an overlay on empty ground: a mask without a picture. */
  primaryIsOverlay: boolean;
  overlays: Overlay[];
  captions: Tensor[];
  palettes: PaletteState[];
  /** The tensor to request, and whether the server scales it. */
  columns: { name: string; sized: boolean }[];
  /** The overlays that are left out of each copy of a picture; most often there is one copy. */
  panes: ReadonlySet<Tensor>[];
}

const overlayDraws: ReadonlySet<string> =
  new Set(["boxes", "mask", "segments", "polygons", "keypoints", "points"]);
const captionDraws: ReadonlySet<string> = new Set(["label", "text", "number", "json"]);
const sizedDraws: ReadonlySet<string> = new Set(["image", "mask", "segments"]);

/** Lines of text under a picture. */
export const maxCaptions = 3;
const maxTextCaptions = 8;
const noClasses: ReadonlySet<number> = new Set();

/** Opacity where the appearance states none: a mask lets the picture through. */
export function defaultOpacity(tensor: Tensor): number {
  return tensor.draw === "mask" || tensor.draw === "segments" ? 0.5 : 1;
}

export function planOf(view: View, appearance: Appearance): Plan {
  const layerOf = (tensor: Tensor): Layer | undefined =>
    Object.hasOwn(appearance.layers, tensor.name) ? appearance.layers[tensor.name] : undefined;
  const primary = appearance.primary === "" ? undefined
    : view.tensors.find(({ name }) => name === appearance.primary);
  const primaryIsOverlay = primary !== undefined && overlayDraws.has(primary.draw);
  const drawn = view.tensors.filter((tensor) => overlayDraws.has(tensor.draw) && primary !== undefined
    && (tensor === primary || tensor.over === primary.name)).slice(0, maxPalettes - 1);
  const overlays = drawn.map((tensor, at): Overlay => ({
    tensor, palette: at + 1, visible: layerOf(tensor)?.visible ?? true,
    labels: view.tensors.filter((other) => other.draw === "label" && other.group === tensor.group),
  }));
  const palettes = overlays.map(({ tensor, labels }) => paletteOf(tensor, labels, layerOf));
  const captions = captionsOf(view, appearance, primary, overlays);
  const names = new Map<string, boolean>();
  if (primary) names.set(primary.name, sizedDraws.has(primary.draw));
  for (const { tensor, labels, visible } of overlays) {
    if (!visible) continue;
    names.set(tensor.name, sizedDraws.has(tensor.draw));
    for (const label of labels) names.set(label.name, false);
  }
  for (const tensor of captions) names.set(tensor.name, false);
  const columns = [...names].map(([name, sized]) => ({ name, sized }));
  const panes = panesOf(overlays, appearance.pair);
  return { primary, primaryIsOverlay, overlays, captions, palettes, columns, panes };
}

function panesOf(overlays: Overlay[], pair: Appearance["pair"]): ReadonlySet<Tensor>[] {
  const [left, right] = (pair ?? []).map((name) =>
    overlays.find(({ tensor }) => tensor.name === name)?.tensor);
  return left && right && left !== right ? [new Set([right]), new Set([left])] : [new Set()];
}

function paletteOf(tensor: Tensor, labels: Tensor[],
  layerOf: (tensor: Tensor) => Layer | undefined): PaletteState {
  const layer = layerOf(tensor);
  let hidden = layer?.hidden ?? noClasses;
  for (const label of labels) {
    const more = layerOf(label)?.hidden;
    if (more && more.size > 0) hidden = new Set([...hidden, ...more]);
  }
  return {
    opacity: layer?.opacity ?? defaultOpacity(tensor), hidden,
    background: tensor.draw === "segments" && zeroIsBackground(tensor),
  };
}

/** Value 0 of a segment mask is no class, unless its name says that it is one. */
export function zeroIsBackground(tensor: Tensor): boolean {
  const name = tensor.class_names[0];
  return name === undefined
    || /^(back ?ground|bg|unlabell?ed|void|none|ignored?)?$/i.test(name.replace(/[\W_]+/g, ""));
}

function captionsOf(view: View, appearance: Appearance, primary: Tensor | undefined,
  overlays: Overlay[]): Tensor[] {
  const most = primary ? maxCaptions : maxTextCaptions;
  const naming = new Set(overlays.flatMap(({ labels }) => labels));
  const chosen = view.tensors.filter((tensor) => {
    if (tensor === primary || !captionDraws.has(tensor.draw)) return false;
    if (Object.hasOwn(appearance.layers, tensor.name)) {
      return appearance.layers[tensor.name].visible;
    }
    if (!primary) return true;
    // Labels that name instances stand at them; JSON is seldom worth a line.
    return tensor.draw !== "json" && !naming.has(tensor)
      && (tensor.over === primary.name || tensor.role === "side");
  });
  const first = (tensor: Tensor): number => tensor.draw === "label" ? 0 : 1;
  return chosen.sort((a, b) => first(a) - first(b)).slice(0, most);
}

/** The item of a sequence; other tensors have one sample for all items. */
export function itemOf(sample: Sample | undefined, tensor: Tensor, item: number): Sample | undefined {
  if (sample?.kind !== "items" || !tensor.sequence) return sample;
  if (sample.count === 0) return { kind: "missing" };
  return sample.items[Math.min(item, sample.count - 1)];
}

const maxNames = 4;

/** One line of text for a sample; "": there is nothing to say. */
export function captionOf(tensor: Tensor, sample: Sample | undefined): string {
  if (!sample) return "";
  switch (sample.kind) {
    case "text": return plain(sample.text);
    case "json": return plain(sample.text);
    case "array": return tensor.draw === "label" ? namesOf(tensor, sample) : valuesOf(sample);
    case "items": return sample.count === 1 && sample.items[0]
      ? captionOf(tensor, sample.items[0]) : `${sample.count} items`;
    case "error": return plain(sample.message);
    default: return "";
  }
}

function namesOf(tensor: Tensor, sample: Sample): string {
  const counts = new Map<number, number>();
  const numbers = numbersOf(sample) ?? [];
  for (let i = 0; i < Math.min(numbers.length, 10_000); i++) {
    counts.set(numbers[i], (counts.get(numbers[i]) ?? 0) + 1);
  }
  const parts = [...counts].slice(0, maxNames).map(([value, count]) =>
    count > 1 ? `${className(tensor, value)} × ${count}` : className(tensor, value));
  return parts.join(", ") + (counts.size > maxNames ? ", …" : "");
}

function valuesOf(sample: Sample): string {
  const numbers = numbersOf(sample) ?? [];
  if (numbers.length > maxNames && sample.kind === "array") {
    return `${sample.dtype} (${sample.shape.join(", ")})`;
  }
  return Array.from(numbers, numberText).join(", ");
}

export function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

/** The name of a class, or its number. */
export function className(tensor: Tensor, value: number): string {
  const name = tensor.class_names[value];
  return name === undefined || name === "" ? numberText(value) : plain(name, 60);
}
