// What the panels (src/ui) see of the drawing (src/draw) and of the data (src/data).

import type { Header, Tensor, View } from "../data/protocol";

/** How tensors are drawn. A change takes no new data from the server. */
export interface Appearance {
  /** The pictures that cells show; "" draws cells of text alone. */
  primary: string;
  /** By name of tensor: overlays and labels. Tensors without an entry have the defaults. */
  layers: Record<string, Layer>;
  dark: boolean;
  /** Two overlays that are drawn apart: each picture stands twice, with one of them. */
  pair?: readonly [string, string];
  color?: ColorBy;
}

/** A tensor whose values colour shapes and the borders of cells, instead of the classes of
 * shapes. */
export interface ColorBy {
  name: string;
  /** The numbers at both ends of the ramp; for classes they mean nothing. */
  low: number;
  high: number;
}

export interface Layer {
  visible: boolean;
  /** 0 to 1 */
  opacity: number;
  /** Classes (or values of a segment mask) that are not drawn. */
  hidden: ReadonlySet<number>;
}

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

/** What lies under a point of the canvas. */
export interface Hit {
  row: number;
  /** Of the picture; undefined outside of it. */
  x?: number;
  y?: number;
  /** The topmost annotation there. */
  tensor?: string;
  instance?: number;
  text?: string;
}

export interface GridEvents {
  /** A click or a key moved the selection. */
  selected(row: number): void;
  /** A double click or Enter. */
  opened(row: number): void;
  hovered(hit: Hit | null): void;
  /** The first row in sight changed, or how many there are. */
  scrolled(first: number, count: number): void;
  /** A pinch or Ctrl and wheel changed the side of a cell. */
  resized?(pixels: number): void;
}

export interface Frames {
  drawn: number;
  /** Milliseconds between the last 600 frames. */
  times: number[];
  /** The rows in sight. */
  first: number;
  count: number;
  /** All samples of the rows in sight have come and are drawn. */
  complete: boolean;
}

/** A virtual grid of samples on a canvas: any number of rows, any size of cells. */
export interface Grid {
  setStore(store: SampleStore): void;
  setAppearance(a: Appearance): void;
  /** Side of a cell in CSS pixels, 32 to 1024. */
  setCell(pixels: number): void;
  scrollTo(row: number): void;
  select(row: number): void;
  /** Takes a key of the keyboard; true: it was of use. */
  key(e: KeyboardEvent): boolean;
  /** For tests and benchmarks. */
  frames(): Frames;
  destroy(): void;
}

/** What of a picture is in sight. */
export interface Look {
  scale: number;
  x: number;
  y: number;
  /** The picture stays whole in the window. */
  fitting: boolean;
}

/** One sample with pan and zoom. */
export interface Single {
  setStore(store: SampleStore): void;
  setAppearance(a: Appearance): void;
  /** item: of a sequence */
  show(row: number, item: number): void;
  fit(): void;
  /** Factor above 1: closer, around a point of the canvas or its middle. */
  zoom(factor: number, x?: number, y?: number): void;
  /** The values that become black and white in pictures other than uint8. null: unchanged. */
  setWindow(window: { low: number; high: number } | null): void;
  /** Shows the same part as another view does. */
  setLook(look: Look): void;
  key(e: KeyboardEvent): boolean;
  destroy(): void;
}

export type OpenGrid = (canvas: HTMLCanvasElement, events: GridEvents) => Grid;
/** `moved`: the person zoomed or panned. */
export type OpenSingle = (canvas: HTMLCanvasElement, hovered: (hit: Hit | null) => void,
  moved?: (look: Look) => void) => Single;

export type { Header, Tensor, View };
