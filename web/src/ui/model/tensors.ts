// Tells which tensors a part of the page takes: for pictures, classes, statistics, the map.

import type { Tensor, View } from "../../data/protocol";
import { isMask } from "../../draw/plan";

export function isPicture(tensor: Tensor): boolean {
  return tensor.draw === "image";
}

export function isVideo(tensor: Tensor): boolean {
  return tensor.draw === "video";
}

/**
 * Returns the tensors that cells can show: pictures, then videos, and where there are none, masks.
 */
export function picturesOf(view: View): Tensor[] {
  const primary = view.tensors.filter((tensor) => tensor.role === "primary");
  const pictures = [...primary.filter(isPicture), ...primary.filter(isVideo)];
  return pictures.length > 0 ? pictures : view.tensors.filter(isMask);
}

/** Returns the picture tensor of a cell: `wanted` if it exists, else the first one. */
export function choosePrimary(view: View, wanted = ""): string {
  const pictures = picturesOf(view);
  return (pictures.find((tensor) => tensor.name === wanted) ?? pictures[0])?.name ?? "";
}

/** Returns the tensors of vectors that the map projects. */
export function embeddings(view: View | null): Tensor[] {
  return view?.tensors.filter((tensor) => tensor.draw === "embedding" && !tensor.sequence) ?? [];
}

/** Columns with one value for a row, which has a place in an order. */
export function isSortable(tensor: Tensor): boolean {
  if (tensor.sequence || tensor.list) return false;
  if (tensor.draw === "number" || tensor.draw === "text") return true;
  return tensor.draw === "label" && (tensor.max_shape ?? []).every((side) => side <= 1);
}

const classDraws: ReadonlySet<string> = new Set(
  ["label", "segments", "boxes", "mask", "polygons", "keypoints"]);

/** Reports whether classes of a tensor can be hidden. */
export function hasClasses(tensor: Tensor): boolean {
  return tensor.class_names.length > 0 && classDraws.has(tensor.draw);
}

/** Reports whether statistics of a tensor are shown. */
export function hasStats(tensor: Tensor): boolean {
  return tensor.draw === "label" || tensor.draw === "number" || tensor.draw === "text" ||
    tensor.draw === "segments" && tensor.class_names.length > 0;
}

const smallElements = 4096;

/** Reports whether values are small enough to be requested for each selected row. */
export function isSmall(tensor: Tensor): boolean {
  if (isPicture(tensor) || isVideo(tensor) || isMask(tensor)) return false;
  if (tensor.sequence) return false;
  if (["label", "text", "json", "number", "boxes", "keypoints", "points", "polygons"]
    .includes(tensor.draw)) return true;
  const shape = tensor.max_shape ?? tensor.shape;
  if (!shape) return false;
  return shape.every((side) => side >= 0) && shape.reduce((n, side) => n * side, 1) <= smallElements;
}
