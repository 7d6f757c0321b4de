// Plans the drawing from tensors and their appearance: pictures, overlays and captions.

import type { Tensor, View } from "../data/protocol";
import type { Sample } from "../data/samples";
import type { Appearance, Layer } from "./api";
import { noNumber, rampPlace, maxPalettes, type PaletteState } from "./colors";
import { formatNumber, plain } from "./format";
import { codeOf, numbersOf } from "./shapes";

export interface Overlay {
  tensor: Tensor;
  /** Tensors whose labels may name the instances, the likeliest first. */
  labels: Naming[];
  palette: number;
  visible: boolean;
  /** Classes of its own that are not drawn. They count where no label names the instances. */
  hidden: ReadonlySet<number>;
  /** The tensor that colours the instances; undefined: their classes do. */
  color: Coloring | undefined;
}

export interface Naming {
  tensor: Tensor;
  /** Its classes that are not drawn. */
  hidden: ReadonlySet<number>;
}

/** Colours by the values of a tensor: one for each instance of a shape, or one for a cell. */
export interface Coloring {
  tensor: Tensor;
  /** On a ramp from low to high; false: classes. */
  numbers: boolean;
  low: number;
  high: number;
  /** The palette for the borders of cells. */
  palette: number;
}

export interface Plan {
  primary: Tensor | undefined;
  /** The primary tensor is drawn as an overlay on empty ground: a mask without a picture. */
  primaryIsOverlay: boolean;
  overlays: Overlay[];
  captions: Tensor[];
  /** Names of tensors that are drawn when they are visible, and not when they are not. */
  switches: ReadonlySet<string>;
  palettes: PaletteState[];
  /** The tensor to request, and whether the server scales it. */
  columns: { name: string; sized: boolean }[];
  /** The overlays that are left out of each copy of a picture; most often there is one copy. */
  panes: ReadonlySet<Tensor>[];
  color: Coloring | undefined;
}

const overlayDraws: ReadonlySet<string> =
  new Set(["boxes", "mask", "segments", "polygons", "keypoints", "points"]);
const captionDraws: ReadonlySet<string> = new Set(["label", "text", "number", "json"]);
const sizedDraws: ReadonlySet<string> = new Set(["image", "mask", "segments", "video"]);

/** The most lines of text under a picture. */
export const maxCaptions = 3;
const maxTextCaptions = 8;
const noClasses: ReadonlySet<number> = new Set();

/** Opacity where the appearance states none: a mask lets the picture through. */
export function defaultOpacity(tensor: Tensor): number {
  return isMask(tensor) ? 0.5 : 1;
}

export function planOf(view: View, appearance: Appearance): Plan {
  const layerOf = (tensor: Tensor): Layer | undefined =>
    Object.hasOwn(appearance.layers, tensor.name) ? appearance.layers[tensor.name] : undefined;
  const hiddenOf = (tensor: Tensor): ReadonlySet<number> => layerOf(tensor)?.hidden ?? noClasses;
  const primary = appearance.primary === "" ? undefined
    : view.tensors.find(({ name }) => name === appearance.primary);
  const primaryIsOverlay = primary !== undefined && overlayDraws.has(primary.draw);
  const drawn = view.tensors.filter((tensor) => overlayDraws.has(tensor.draw) && primary !== undefined
    && (tensor === primary || isOver(tensor, primary))).slice(0, maxPalettes - 2);
  const color = coloringOf(view, appearance, drawn.length + 1);
  const colored = color ? coloredBy(color.tensor, drawn) : [];
  const overlays = drawn.map((tensor, at): Overlay => ({
    tensor, palette: at + 1, visible: layerOf(tensor)?.visible ?? true,
    labels: labelsOf(tensor, view).map((label): Naming => ({ tensor: label, hidden: hiddenOf(label) })),
    hidden: hiddenOf(tensor), color: colored.includes(tensor) ? color : undefined,
  }));
  const palettes = overlays.map((one) => paletteOf(one, layerOf));
  if (color) palettes.push({ opacity: 1, hidden: noClasses, background: false, ramp: color.numbers });
  const texts = textsOf(view, primary, overlays);
  const captions = texts.filter((tensor) => layerOf(tensor)?.visible ?? true)
    .slice(0, primary ? maxCaptions : maxTextCaptions);
  const switches = new Set([...overlays.map(({ tensor }) => tensor), ...captions,
    ...texts.filter((tensor) => layerOf(tensor)?.visible === false)].map(({ name }) => name));
  const names = new Map<string, boolean>();
  if (primary) names.set(primary.name, sizedDraws.has(primary.draw));
  for (const { tensor, labels, visible } of overlays) {
    if (!visible) continue;
    names.set(tensor.name, sizedDraws.has(tensor.draw));
    for (const label of labels) names.set(label.tensor.name, false);
  }
  for (const tensor of captions) names.set(tensor.name, false);
  if (color) names.set(color.tensor.name, false);
  const columns = [...names].map(([name, sized]) => ({ name, sized }));
  const panes = panesOf(overlays, appearance.pair);
  return { primary, primaryIsOverlay, overlays, captions, switches, palettes, columns, panes, color };
}

function panesOf(overlays: Overlay[], pair: Appearance["pair"]): ReadonlySet<Tensor>[] {
  const [left, right] = (pair ?? []).map((name) =>
    overlays.find(({ tensor }) => tensor.name === name)?.tensor);
  return left && right && left !== right ? [new Set([right]), new Set([left])] : [new Set()];
}

/**
 * Returns the plan for the frames of a video: with the overlays and labels among `sequences`, which
 * have an item for each frame, and with the labels of whole rows. There is one copy of the picture.
 */
export function planOfFrames(plan: Plan, sequences: ReadonlySet<string>): Plan {
  const overlays = plan.overlays.filter(({ tensor }) => tensor.sequence && sequences.has(tensor.name))
    .map((one) => ({ ...one, labels: one.labels.filter(({ tensor }) => !tensor.sequence || sequences.has(tensor.name)) }));
  return { ...plan, overlays, panes: [new Set()] };
}

/**
 * Reports whether an annotation belongs to a picture. Where there are only masks, one of them is
 * the picture, and shapes lie over it; other masks would cover it.
 */
function isOver(tensor: Tensor, primary: Tensor): boolean {
  return tensor.over === primary.name
    || overlayDraws.has(primary.draw) && tensor.over === "" && !isMask(tensor);
}

function labelsOf({ labels = [] }: Tensor, view: View): Tensor[] {
  return labels.flatMap((name) => view.tensors.filter((tensor) => tensor.name === name));
}

/** Labels of several values for a row are the classes of shapes, not of a picture. */
function isOfShapes(label: Tensor): boolean {
  const shape = label.max_shape ?? label.shape;
  return shape === null || shape.some((side) => side < 0 || side > 1);
}

/** Reports whether the samples of a tensor are masks. */
export function isMask({ draw }: Tensor): boolean {
  return draw === "mask" || draw === "segments";
}

function paletteOf({ tensor, hidden, color }: Overlay,
  layerOf: (tensor: Tensor) => Layer | undefined): PaletteState {
  const opacity = layerOf(tensor)?.opacity ?? defaultOpacity(tensor);
  // The places are values of the other tensor: the classes of its own layer are hidden.
  if (color) {
    return { opacity, hidden: layerOf(color.tensor)?.hidden ?? noClasses, background: false, ramp: color.numbers };
  }
  if (tensor.draw === "segments") return { opacity, hidden, background: zeroIsBackground(tensor) };
  // The painter hides classes by the labels of each row.
  return { opacity, hidden: noClasses, background: false };
}

/**
 * Reports whether a tensor can colour shapes or cells: classes or numbers, one or one for each
 * instance.
 */
export function isColorable(tensor: Tensor): boolean {
  if (tensor.sequence) return false;
  if (tensor.draw === "label" || tensor.draw === "number") return true;
  const axes = (tensor.max_shape ?? tensor.shape)?.length;
  return tensor.draw === "array" && axes === 1 && /^(u?int|b?float|bool)/.test(tensor.dtype ?? "");
}

function coloringOf(view: View, { color }: Appearance, palette: number): Coloring | undefined {
  const tensor = view.tensors.find(({ name }) => name === color?.name);
  if (!color || !tensor || !isColorable(tensor)) return undefined;
  return { tensor, numbers: tensor.draw !== "label", low: color.low, high: color.high, palette };
}

/**
 * Returns the overlays whose instances a tensor has values for: those of its group, or all if there
 * are none.
 */
function coloredBy(tensor: Tensor, drawn: Tensor[]): Tensor[] {
  if (tensor.draw === "number" || (tensor.max_shape ?? tensor.shape)?.length === 0) return [];
  const all = drawn.filter(({ draw }) => draw !== "segments");
  const near = all.filter(({ group }) => group === tensor.group);
  return near.length > 0 ? near : all;
}

/**
 * Returns the place in the palette of a value; undefined: it is the class of an instance without a
 * value.
 */
export function placeOf(color: Coloring, value: number | undefined): number | undefined {
  if (value === undefined) return color.numbers ? noNumber : undefined;
  return color.numbers ? rampPlace(value, color.low, color.high) : codeOf(value);
}

/** Returns the place in the palette of the border of a cell; undefined: it has none. */
export function borderOf(color: Coloring, sample: Sample | undefined): number | undefined {
  if (sample?.kind !== "array" || sample.shape.length > 0) return undefined;
  const value = numbersOf(sample)?.[0];
  return value === undefined ? undefined : placeOf(color, value);
}

/** Value 0 of a segment mask is no class, unless its name says that it is one. */
export function zeroIsBackground(tensor: Tensor): boolean {
  const name = tensor.class_names[0];
  return name === undefined
    || /^(back ?ground|bg|unlabell?ed|void|none|ignored?)?$/i.test(name.replace(/[\W_]+/g, ""));
}

/**
 * Returns the place of a tensor among the captions. A computed column comes first, since the user
 * has just written it; JSON is seldom worth a line.
 */
function rankOf({ computed, draw }: Tensor): number {
  return computed ? 0 : draw === "label" ? 1 : draw === "json" ? 3 : 2;
}

/** Returns the tensors that may stand as text at a picture: computed columns and labels first. */
function textsOf(view: View, primary: Tensor | undefined, overlays: Overlay[]): Tensor[] {
  const naming = new Set(overlays.flatMap(({ labels }) => labels.map(({ tensor }) => tensor)));
  const chosen = view.tensors.filter((tensor) => {
    if (tensor === primary || !captionDraws.has(tensor.draw)) return false;
    if (!primary) return true;
    // Classes of shapes stand at the shapes.
    return !(naming.has(tensor) && isOfShapes(tensor)) && (tensor.over === primary.name || tensor.role === "side");
  });
  return chosen.sort((a, b) => rankOf(a) - rankOf(b));
}

/** Returns the item of a sequence; other tensors have one sample for all items. */
export function itemOf(sample: Sample | undefined, tensor: Tensor, item: number): Sample | undefined {
  if (sample?.kind !== "items" || !tensor.sequence) return sample;
  if (sample.count === 0) return { kind: "missing" };
  return sample.items[Math.min(item, sample.count - 1)];
}

const maxNames = 4;

/**
 * Returns one line of text for a sample; "": there is nothing to say. `named` puts the name of the
 * tensor before a number, since several lines of numbers look alike. Numbers that a query computes
 * always have their names.
 */
export function captionOf(tensor: Tensor, sample: Sample | undefined, named = false): string {
  if (!sample) return "";
  switch (sample.kind) {
    case "text": return plain(sample.text);
    case "json": return plain(sample.text);
    case "array": {
      const text = tensor.draw === "label" ? namesOf(tensor, sample) : valuesOf(sample);
      return (named || tensor.computed) && tensor.draw === "number" && text !== "" ? plain(`${lastName(tensor)} ${text}`) : text;
    }
    case "items": return sample.count === 1 && sample.items[0]
      ? captionOf(tensor, sample.items[0], named) : `${sample.count} items`;
    case "error": return plain(sample.message);
    default: return "";
  }
}

/** Returns the name of a tensor within its group. */
function lastName({ name }: Tensor): string {
  return name.slice(name.lastIndexOf("/") + 1);
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
  return Array.from(numbers, formatNumber).join(", ");
}

/** Returns the name of a class, or its number. */
export function className(tensor: Tensor, value: number): string {
  const name = tensor.class_names[value];
  return name === undefined || name === "" ? formatNumber(value) : plain(name, 60);
}
