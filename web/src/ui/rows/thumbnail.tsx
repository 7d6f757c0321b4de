// A small picture in a cell of the table. Its canvas has its own pixels: the sample may be evicted.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Sample } from "../../data/samples";
import { reduced, sizeOf, toRgba } from "../../draw/pixels";

export interface ThumbnailProps {
  sample: Sample;
  /** Of the longer side of the picture, in CSS pixels. */
  side: number;
  label: string;
}

/** Whether a sample has pixels that a thumbnail shows. */
export function isShowable(sample: Sample | undefined): sample is Sample {
  return sample !== undefined && sizeOf(sample) !== undefined;
}

export function Thumbnail({ sample, side, label }: ThumbnailProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, sample, texelsOf(side));
  }, [sample, side]);
  const { width, height } = sizeOf(sample) ?? { width: 1, height: 1 };
  const scale = side / Math.max(width, height);
  return (
    <canvas ref={canvas} class="thumbnail" role="img" aria-label={label} title={label}
      style={{ width: `${Math.max(1, width * scale)}px`, height: `${Math.max(1, height * scale)}px` }} />
  );
}

/**
 * Returns the pixels of the screen for so many CSS pixels, in steps that zooming seldom crosses.
 */
export function texelsOf(side: number): number {
  const wanted = side * (globalThis.devicePixelRatio || 1);
  return Math.min(256, 2 ** Math.ceil(Math.log2(Math.max(16, wanted))));
}

function paint(canvas: HTMLCanvasElement, sample: Sample, most: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  if (sample.kind === "picture") {
    // An evicted bitmap is closed, and has no size.
    if (sample.bitmap.width === 0) return;
    Object.assign(canvas, reduced(sample.bitmap.width, sample.bitmap.height, most));
    context.drawImage(sample.bitmap, 0, 0, canvas.width, canvas.height);
    return;
  }
  const texels = sample.kind === "array" ? toRgba(sample, most) : undefined;
  if (!texels) return;
  Object.assign(canvas, { width: texels.width, height: texels.height });
  context.putImageData(new ImageData(straight(texels.data), texels.width, texels.height), 0, 0);
}

/** Converts colours for a canvas, which takes them not multiplied by alpha. */
export function straight(data: Uint8Array): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(data);
  for (let at = 0; at < out.length; at += 4) {
    const alpha = out[at + 3];
    if (alpha === 0 || alpha === 255) continue;
    for (let c = 0; c < 3; c++) out[at + c] = out[at + c] * 255 / alpha;
  }
  return out;
}
