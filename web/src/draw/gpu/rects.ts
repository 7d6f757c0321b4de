// Rectangles in one batch, which change without the rest of a scene.

import type { Rect } from "../geometry";
import type { Batch } from "./gl";

export class Rects {
  constructor(private readonly batch: Batch) {}

  get count(): number {
    return this.batch.count;
  }

  /** Removes all rectangles. */
  begin(): void {
    this.batch.reset();
  }

  add({ x, y, width, height }: Rect, color: number): void {
    putRect(this.batch, x, y, x + width, y + height, color);
  }

  /** Uploads the added rectangles. */
  end(): void {
    this.batch.upload();
  }

  draw(): void {
    this.batch.draw();
  }

  delete(): void {
    this.batch.delete();
  }
}

/** Adds two corners and a color to a batch. */
export function putRect(into: Batch, x0: number, y0: number, x1: number, y1: number,
  color: number): void {
  const at = into.next();
  const { f, u } = into;
  f[at] = x0;
  f[at + 1] = y0;
  f[at + 2] = x1;
  f[at + 3] = y1;
  u[at + 4] = color;
}
