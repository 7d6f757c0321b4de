// Finds the places of names at boxes, in a cell that they must not leave.

import { clamp, type Rect } from "../geometry";

/**
 * Returns the corner of a tag at a box: the upper left corner of the box where the tag fits in,
 * else a place above or below. undefined: the tag would cover another one, or leave the cell.
 */
export function tagAt(box: Rect, size: Pick<Rect, "width" | "height">, within: Rect,
  others: readonly Rect[]): { x: number; y: number } | undefined {
  const { width, height } = size;
  if (width <= 0 || width > within.width) return undefined;
  const x = clamp(box.x, within.x, within.x + within.width - width);
  const above = box.y - height;
  const inside = box.height >= height ? box.y : undefined;
  const below = box.y + box.height;
  // A tag that is wider than its box would hide the content of the box, or the box beside it.
  const places = inside !== undefined && box.width >= width ? [inside, above] : [above, inside, below];
  for (const y of places) {
    if (y === undefined || y < within.y || y + height > within.y + within.height) continue;
    if (others.every((other) => !meet({ x, y, width, height }, other))) return { x, y };
  }
  return undefined;
}

function meet(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
