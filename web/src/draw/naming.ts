// Chooses the label tensors that may name the shapes of an overlay.

import type { Tensor } from "./api";

/** Shared characters from which on names of tensors count as alike: "boxes" and "box_labels". */
const alike = 3;

// How many values a label tensor has for a row: one by nature, one so far, or several.
const single = 0;
const one = 1;
const several = 2;

function valuesOf(label: Tensor): number {
  const shape = label.max_shape ?? label.shape;
  if (!shape) return several;
  if (shape.length === 0) return single;
  return shape.every((side) => side >= 0 && side <= 1) ? one : several;
}

/** Labels of several values for a row are the classes of shapes, not of a picture. */
export function isOfShapes(label: Tensor): boolean {
  return valuesOf(label) === several;
}

/** Whether samples of an overlay have one instance, each. */
function hasOneInstance({ draw, max_shape: most }: Tensor): boolean {
  if (!most) return false;
  if (draw === "mask") return most.length === 2 || most[2] === 1;
  return draw === "keypoints" && (most.length === 1 || most[1] === 1);
}

/**
 * The label tensors that may name the shapes of an overlay, the likeliest first. A picture with a
 * class and two boxes must not give the boxes its class: a label with one value for a row counts
 * only if the group has no lists of labels.
 */
export function namersOf(overlay: Tensor, tensors: readonly Tensor[]): Tensor[] {
  // Values of a segment mask are classes already.
  if (overlay.draw === "segments") return [];
  const group = tensors.filter(({ draw, group }) => draw === "label" && group === overlay.group);
  const most = Math.max(...group.map(valuesOf));
  // Several classes belong to other shapes than the only one.
  if (most === several && hasOneInstance(overlay)) return [];
  const near = group.filter((label) => valuesOf(label) === most)
    .map((label) => ({ label, likeness: likeness(overlay, label) }))
    .sort((a, b) => b.likeness - a.likeness);
  const best = near[0]?.likeness ?? 0;
  // Where truth and prediction share a group, names alone say what belongs together.
  return near.filter(({ likeness }) => best < alike || likeness === best).map(({ label }) => label);
}

/** The characters that names share at their beginnings and ends. */
function likeness({ name: a }: Tensor, { name: b }: Tensor): number {
  // The group is the same and says nothing.
  const start = a.lastIndexOf("/") + 1;
  const least = Math.min(a.length, b.length);
  let first = start;
  while (first < least && a[first] === b[first]) first++;
  let last = 0;
  while (last < least - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  return first - start + last;
}
