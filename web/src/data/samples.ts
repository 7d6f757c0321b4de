// The samples of a view, decoded: the types that drawing and panels share.

import type { View } from "./protocol";

/** A sample, decoded for drawing. */
export type Sample =
  | { kind: "picture"; width: number; height: number; bitmap: ImageBitmap;
      /** The picture is the first frame of a video. */
      film?: Film }
  | { kind: "array"; dtype: string; shape: number[]; data: ArrayLike<number> | BigInt64Array | BigUint64Array;
      /** Of a picture or mask that was made smaller: the whole size, to which annotations refer. */
      width?: number; height?: number }
  | { kind: "text"; text: string; whole: boolean }
  | { kind: "json"; value: unknown; text: string }
  | { kind: "missing" }
  /** A video without a picture, and the reason. */
  | { kind: "video"; film: Film; message: string }
  /** Not sent. With the size of a picture, regions of it can be read. */
  | { kind: "large"; size: number; width?: number; height?: number }
  | { kind: "error"; message: string }
  /** Items of a sequence or list; `count` of them exist, and one that has not come is undefined. */
  | { kind: "items"; count: number; items: (Sample | undefined)[] };

/** The facts of a video that a cell shows. */
export interface Film {
  codec: string;
  width: number;
  height: number;
  frames: number;
  /** The time for which it is shown. */
  seconds: number;
  /** Of the file. */
  bytes: number;
}

/** Samples of one view, kept within a bound of bytes. Drawing and panels share one. */
export interface SampleStore {
  readonly view: View;
  /** Returns a sample that is there, at any size; undefined: it is not. Requests nothing. */
  peek(row: number, column: string): Sample | undefined;
  /** Returns the dataset row of a row, once any sample of it has come. */
  index(row: number): number | undefined;
  /**
   * Replaces the wanted samples of an owner. Keeps the samples that are there, and cancels requests
   * for others that are no longer wanted. Requests of one turn of the event loop go out together.
   * `pixels` 0: whole.
   */
  want(wants: Want[], owner: string): void;
  /** Loads the whole sample of one row, with all its items, for panels. */
  load(row: number, column: string, signal?: AbortSignal): Promise<Sample>;
  /** Loads a region of a picture, and keeps nothing of it. The caller closes its bitmap. */
  region(want: RegionWant, signal: AbortSignal): Promise<PartOfPicture>;
  /** Calls back after samples have come; the returned function ends that. */
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
  /** The region of the whole picture that it shows: at least the wanted one. */
  place: { x: number; y: number; width: number; height: number };
}
