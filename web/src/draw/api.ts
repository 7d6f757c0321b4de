// The interface of the drawing, which src/ui uses: how tensors look, and the views on a canvas.

import type { SampleStore } from "../data/samples";

/** The look of tensors. A change of it takes no new data from the server. */
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

/** The annotation and the pixel under a point of the canvas. */
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
  /** The first row in sight or the number of rows in sight changed. */
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
  /** Takes a key of the keyboard; true: the key had an effect. */
  key(e: KeyboardEvent): boolean;
  /** For tests and benchmarks. */
  frames(): Frames;
  destroy(): void;
}

/** The part of a picture in sight. */
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

/** The size of a picture, in its pixels. */
export interface Size {
  width: number;
  height: number;
}

/** The annotations of the frame that a player shows, on a canvas over it. */
export interface FilmLayer {
  setStore(store: SampleStore): void;
  setAppearance(a: Appearance): void;
  /** `frame`: of the frames to which annotations refer; `picture`: as the player shows them. The
   * player fits its picture into the canvas. */
  setSizes(frame: Size, picture: Size): void;
  /** Draws an item of the sequences that have one for each frame. item -1: of none. */
  show(row: number, item: number, sequences: ReadonlySet<string>): void;
  /** Returns the annotation under a point of the canvas; null: the point is beside the picture. */
  at(x: number, y: number): Hit | null;
  destroy(): void;
}

export type OpenGrid = (canvas: HTMLCanvasElement, events: GridEvents) => Grid;
/** `moved`: the user zoomed or panned. */
export type OpenSingle = (canvas: HTMLCanvasElement, hovered: (hit: Hit | null) => void,
  moved?: (look: Look) => void) => Single;
export type OpenFilm = (canvas: HTMLCanvasElement) => FilmLayer;
