// The samples of a view, decoded: the types that drawing and panels share.

import type { View } from "./protocol";

/** A sample, decoded for drawing. */
export type Sample =
  | { kind: "picture"; width: number; height: number; bitmap: ImageBitmap }
  | { kind: "array"; dtype: string; shape: number[]; data: ArrayLike<number> | BigInt64Array | BigUint64Array;
      /** Of a picture or mask that was made smaller: the whole size, to which annotations refer. */
      width?: number; height?: number }
  | { kind: "text"; text: string; whole: boolean }
  | { kind: "json"; value: unknown; text: string }
  | { kind: "missing" }
  /** Not sent. With the size of a picture, regions of it can be read. */
  | { kind: "large"; size: number; width?: number; height?: number }
  | { kind: "error"; message: string }
  /** Items of a sequence or list; `count` of them exist, and one that has not come is undefined. */
  | { kind: "items"; count: number; items: (Sample | undefined)[] };

/** Samples of one view, kept within a bound of bytes. Drawing and panels share one. */
export interface SampleStore {
  readonly view: View;
  /** The sample if it is there, at any size; else undefined, and nothing is requested. */
  peek(row: number, column: string): Sample | undefined;
  /** The dataset row of a row, once any sample of it has come. */
  index(row: number): number | undefined;
  /**
   * States all that is wanted now. Samples that are there are kept, requests for others that are no
   * longer wanted are cancelled. Requests of one turn of the event loop go out together.
   * `pixels` 0: whole.
   */
  want(wants: Want[], owner: string): void;
  /** The whole sample of one row, for panels: of all items too. */
  load(row: number, column: string, signal?: AbortSignal): Promise<Sample>;
  /** A region of a picture; not kept. The caller closes its bitmap. */
  region(want: RegionWant, signal: AbortSignal): Promise<PartOfPicture>;
  /** Calls back after samples have come; returns the end of that. */
  subscribe(changed: () => void): () => void;
  /** Ends all requests and frees bitmaps. */
  close(): void;
}

export interface Want {
  rows: number[];
  columns: { name: string; pixels: number; items?: [number, number] }[];
}

export interface RegionWant {
  row: number;
  column: string;
  /** Of a sequence. */
  item?: number;
  /** Top, left, bottom, right: pixels of the whole picture. */
  region: [number, number, number, number];
  /** The region is scaled down until its longer side has that many. */
  pixels: number;
}

export interface PartOfPicture {
  sample: Extract<Sample, { kind: "picture" | "array" }>;
  /** What it shows of the whole picture: at least the wanted region. */
  place: { x: number; y: number; width: number; height: number };
}
