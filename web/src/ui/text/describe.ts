// Describes samples as text: for table cells, the row panel, and screen readers.

import type { Tensor } from "../../data/protocol";
import type { Sample } from "../../data/samples";
import { formatBytes, formatFilm, formatNumber } from "../../draw/format";
import { formatCount } from "./format";
import { formatCounted } from "./time";

type ArraySample = Extract<Sample, { kind: "array" }>;

const shownValues = 24;
const shownText = 300;

export function className(tensor: Tensor, value: number | bigint): string {
  const names = tensor.class_names;
  const at = Number(value);
  return Number.isInteger(at) && at >= 0 && at < names.length ? names[at] : formatNumber(value);
}

function shapeText(shape: readonly number[]): string {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

/** Formats one element of an array, as the schema of its tensor says. */
function valueText({ data, dtype }: ArraySample, tensor: Tensor, at: number): string {
  const value = data[at];
  if (tensor.draw === "label") return className(tensor, value);
  if (dtype === "bool") return value ? "true" : "false";
  return (tensor.time && formatCounted(tensor.time, value)) || formatNumber(value);
}

function arrayText(sample: ArraySample, tensor: Tensor, most: number): string {
  const { shape, data } = sample;
  if (shape.length === 0 && data.length === 0) return "empty";
  if (shape.length === 0) return valueText(sample, tensor, 0);
  if (data.length === 0) return `empty ${shapeText(shape)}`;
  const values: string[] = [];
  for (let i = 0; i < Math.min(most, data.length); i++) values.push(valueText(sample, tensor, i));
  const rest = data.length > most ? `, … ${formatCount(data.length, "value")}` : "";
  const form = shape.length > 1 ? `${shapeText(shape)} ` : "";
  return `${form}${values.join(", ")}${rest}`;
}

/** Describes a sample in one line; "": it has not come. */
export function describe(sample: Sample | undefined, tensor: Tensor, most = shownValues): string {
  if (!sample) return "";
  switch (sample.kind) {
    case "picture":
      return sample.film ? formatFilm(sample.film) : `${sample.width} × ${sample.height}`;
    case "video":
      return formatFilm(sample.film) + (sample.message && `: ${clip(sample.message, false)}`);
    case "array":
      return describeArray(sample, tensor, most);
    case "text":
      return clip(sample.text, !sample.whole);
    case "json":
      return clip(sample.text, false);
    case "missing":
      return "missing";
    case "large":
      return tensor.draw === "video" ? `video, ${formatBytes(sample.size)}` : describeLarge(sample);
    case "error":
      return `error: ${clip(sample.message, false)}`;
    case "items":
      return describeItems(sample, tensor, most);
  }
}

/**
 * Describes a sample that is not sent. A picture of a known size is shown in tiles, so it is not
 * too large.
 */
function describeLarge({ size, width, height }: Extract<Sample, { kind: "large" }>): string {
  const bytes = size > 0 ? formatBytes(size) : "";
  if (width && height) return [`${width} × ${height}`, bytes].filter(Boolean).join(", ");
  return `too large to show${bytes && `: ${bytes}`}`;
}

function describeArray(sample: ArraySample, tensor: Tensor, most: number): string {
  const whole = sample.width && sample.height ? `${sample.width} × ${sample.height}` : "";
  switch (tensor.draw) {
    case "boxes":
      return formatCount(sample.shape.length === 1 ? Math.min(1, sample.data.length)
        : sample.shape[0] ?? 0, "box", "boxes");
    case "keypoints":
      return formatCount(sample.shape[1] ?? 1, "instance");
    case "points":
      return formatCount(sample.shape[0] ?? 0, "point");
    case "image": case "mask": case "segments":
      return whole || shapeText(sample.shape);
    default:
      return arrayText(sample, tensor, most);
  }
}

function describeItems(sample: Extract<Sample, { kind: "items" }>, tensor: Tensor, most: number): string {
  const noun = tensor.list && tensor.draw === "polygons" ? "polygon" : "item";
  const count = formatCount(sample.count, noun);
  if (tensor.draw === "polygons" || tensor.draw === "image") return count;
  const parts = sample.items.slice(0, 8).map((item) => describe(item, tensor, most)).filter(Boolean);
  return parts.length > 0 ? `${count}: ${parts.join("; ")}${sample.count > 8 ? "; …" : ""}` : count;
}

function clip(text: string, cut: boolean): string {
  const line = text.slice(0, shownText * 2).replace(/\s+/g, " ");
  return line.length > shownText || cut ? `${line.slice(0, shownText)}…` : line;
}

/** Formats at most `most` values of an array in lines, as NumPy would group them. */
export function arrayLines(sample: ArraySample, tensor: Tensor, most: number): string[] {
  const { shape, data } = sample;
  const width = Math.max(1, shape[shape.length - 1] ?? 1);
  const lines: string[] = [];
  for (let at = 0; at < Math.min(most, data.length); at += width) {
    const end = Math.min(at + width, data.length, most);
    const values: string[] = [];
    for (let i = at; i < end; i++) {
      values.push(valueText(sample, tensor, i));
    }
    lines.push(values.join(", "));
  }
  return lines;
}
