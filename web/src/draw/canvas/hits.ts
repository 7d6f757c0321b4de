// Finds the annotation under a point of a picture.

import type { Hit } from "../api";
import { formatNumber } from "../format";
import { rasterOf, topValue } from "../pixels";
import { zeroIsBackground } from "../plan";
import { codeOf, numbersOf, type PictureSize } from "../shapes";
import { polygonHas } from "../triangles";
import type { Annotation } from "./painter";

export interface Found {
  tensor: string;
  instance: number;
  text: string;
}

/**
 * Finds the annotation within `reach` pixels of a point of the picture. Of several shapes that hold
 * the point the smallest one counts, since it lies on top for the eye.
 */
export function annotationAt(annotations: readonly Annotation[], size: PictureSize, x: number,
  y: number, reach: number, hidden: (annotation: Annotation, code: number) => boolean):
  Found | undefined {
  let best: Found | undefined;
  let bestArea = Infinity;
  const offer = (one: Annotation, instance: number, area: number): void => {
    if (area > bestArea || hidden(one, codeOf(one.classOf(instance)))) return;
    bestArea = area;
    best = found(one, instance);
  };
  for (const one of annotations) {
    const { shapes } = one;
    for (const point of shapes.points) {
      const distance = Math.hypot(point.x - x, point.y - y);
      if (distance <= reach) offer(one, point.instance, distance - reach);
    }
    for (let i = 0; i < shapes.boxOf.length; i++) {
      const [left, top, right, bottom] = shapes.boxes.subarray(4 * i, 4 * i + 4);
      if (x < left || x > right || y < top || y > bottom) continue;
      offer(one, shapes.boxOf[i], (right - left) * (bottom - top));
    }
    for (const polygon of shapes.polygons) {
      if (polygonHas(polygon.xy, x, y)) offer(one, polygon.instance, extent(polygon.xy));
    }
  }
  return best ?? maskAt(annotations, size, x, y, hidden);
}

function extent(xy: Float64Array): number {
  let left = Infinity;
  let top = Infinity;
  let right = -Infinity;
  let bottom = -Infinity;
  for (let i = 0; i < xy.length; i += 2) {
    left = Math.min(left, xy[i]);
    right = Math.max(right, xy[i]);
    top = Math.min(top, xy[i + 1]);
    bottom = Math.max(bottom, xy[i + 1]);
  }
  return (right - left) * (bottom - top);
}

function maskAt(annotations: readonly Annotation[], size: PictureSize, x: number, y: number,
  hidden: (annotation: Annotation, code: number) => boolean): Found | undefined {
  // The mask that is drawn last lies on top.
  for (let i = annotations.length - 1; i >= 0; i--) {
    const one = annotations[i];
    const { draw } = one.overlay.tensor;
    if (draw !== "mask" && draw !== "segments") continue;
    const value = elementAt(one, size, x, y);
    if (value === undefined) continue;
    if (draw === "segments") {
      if (value === 0 && zeroIsBackground(one.overlay.tensor)) continue;
      if (!hidden(one, codeOf(value))) return found(one, value);
    } else if (!hidden(one, codeOf(one.classOf(value)))) {
      return found(one, value);
    }
  }
  return undefined;
}

/**
 * Returns the value of a segment mask, or the index of the topmost mask; undefined: there is none.
 */
function elementAt(one: Annotation, size: PictureSize, x: number, y: number): number | undefined {
  const raster = rasterOf(one.sample);
  if (!raster || one.sample.kind !== "array") return undefined;
  const column = Math.floor(x / size.width * raster.width);
  const line = Math.floor(y / size.height * raster.height);
  if (column < 0 || line < 0 || column >= raster.width || line >= raster.height) return undefined;
  const at = (line * raster.width + column) * raster.channels;
  if (one.overlay.tensor.draw === "segments") {
    const { data } = one.sample;
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) return Number(data[at]);
    return topValue(data, at, raster.channels);
  }
  const numbers = numbersOf(one.sample) ?? [];
  for (let mask = raster.channels - 1; mask >= 0; mask--) if (numbers[at + mask]) return mask;
  return undefined;
}

function found(one: Annotation, instance: number): Found {
  const value = one.classOf(instance);
  const text = one.nameOf(instance) || formatNumber(value);
  return { tensor: one.overlay.tensor.name, instance, text };
}

/** Makes a hit of a row, with the overlays at that point of its picture. */
export function hitOf(row: number, x: number, y: number, at: Found | undefined): Hit {
  return at ? { row, x, y, ...at } : { row, x, y };
}
