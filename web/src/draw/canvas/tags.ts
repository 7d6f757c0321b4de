// Finds the places of names at boxes, in a cell that they must not leave.

import { clamp, type Rect } from "../geometry";

/**
 * The corner of a tag of a size at a box: in its upper left corner where the box has room for it,
 * else above or below. undefined: it would cover another tag, or nothing is free within the cell.
 */
export function tagAt(box: Rect, size: Pick<Rect, "width" | "height">, within: Rect,
  others: readonly Rect[]): { x: number; y: number } | undefined {
  const { width, height } = size;
  if (width <= 0 || width > within.width) return undefined;
  const x = clamp(box.x, within.x, within.x + within.width - width);
  const above = box.y - height;
  const inside = box.height >= height ? box.y : undefined;
  const below = box.y + box.height;
  // A tag that is wider than its box would hide what the box shows, or the box beside it.
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
