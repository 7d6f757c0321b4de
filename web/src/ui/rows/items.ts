// The sequences of a row that have an item for each frame of its video. Items come in pieces around
// the frame on show.

import type { Tensor } from "../../data/protocol";
import type { Sample, SampleStore, Want } from "../../data/samples";
import type { Appearance, FilmLayer, Size } from "../../draw/api";
import { isMask, type Plan, planOf } from "../../draw/plan";

/** Items of a piece, and of masks the most pixels of it. */
const pieceItems = 256;
const piecePixels = 1 << 23;
/** The longer side of the masks that are drawn over a player. */
const maskSide = 1024;
/** Of the picture that comes with the facts, for the panel. */
const factsPixels = 256;

/** The frames of a video, as annotations refer to them. */
export interface Frames extends Size {
  count: number;
}

type Range = [from: number, to: number];

export class FrameItems {
  /** Why sequences are not drawn, a line for each. */
  faults: string[] = [];
  private readonly stop: () => void;
  private readonly owner: string;
  private closed = false;
  private appearance: Appearance | undefined;
  private plan: Plan | undefined;
  private frames: Frames | undefined;
  private frame = -1;
  private layer: FilmLayer | null = null;
  private sequences: ReadonlySet<string> = new Set();
  private wanted = "";
  private told = "";

  /** `changed` is called when `faults` or the items of captions are others. */
  constructor(private readonly store: SampleStore, private readonly row: number, private readonly changed: () => void) {
    this.stop = store.subscribe(() => this.update());
    // The wants of the next row are there before this one is closed.
    this.owner = `film ${row}`;
  }

  setAppearance(appearance: Appearance): void {
    this.appearance = appearance;
    this.plan = planOf(this.store.view, appearance);
    this.layer?.setAppearance(appearance);
    this.update();
  }

  /** undefined: no player is there. */
  setFrames(frames: Frames | undefined): void {
    this.frames = frames;
    this.frame = -1;
    this.update();
  }

  setLayer(layer: FilmLayer | null): void {
    this.layer = layer;
    layer?.setStore(this.store);
    if (this.appearance) layer?.setAppearance(this.appearance);
    this.update();
  }

  /** Draws the items of a frame; undefined: which frame is on show is not known yet. */
  show(frame: number | undefined): void {
    this.frame = frame ?? -1;
    this.update();
  }

  /** Returns the item of a tensor at the frame on show. */
  itemOf(tensor: Tensor): number {
    return this.fits(tensor) === true ? Math.max(0, this.frame) : 0;
  }

  close(): void {
    this.closed = true;
    this.stop();
    this.store.want([], this.owner);
  }

  private update(): void {
    const { plan, row } = this;
    if (!plan || row < 0 || this.closed) return;
    const columns = plan.columns.flatMap(({ name, sized }) => this.columnsOf(name, sized));
    const key = columns.map(({ name, items = [] }) => `${name} ${items.join()}`).join("\n");
    if (key !== this.wanted) this.store.want([{ rows: [row], columns }], this.owner);
    this.wanted = key;
    const drawn = this.drawn(plan);
    const names = drawn.filter((tensor) => this.fits(tensor) === true).map(({ name }) => name);
    // A new set makes a new plan.
    if (names.length !== this.sequences.size || !names.every((name) => this.sequences.has(name))) this.sequences = new Set(names);
    this.layer?.show(row, this.frame, this.sequences);
    this.faults = drawn.map((tensor) => this.faultOf(tensor)).filter((text) => text !== "");
    const told = [...this.faults, ...plan.captions.map((tensor) => this.itemOf(tensor))].join("\n");
    if (told !== this.told) this.changed();
    this.told = told;
  }

  /** Returns the sequences that the visible overlays of a video need. */
  private drawn(plan: Plan): Tensor[] {
    const all = plan.overlays.filter(({ visible, tensor }) => visible && tensor.sequence)
      .flatMap(({ tensor, labels }) => [tensor, ...labels.map((label) => label.tensor)]);
    return [...new Set(all)].filter(({ sequence }) => sequence);
  }

  private columnsOf(name: string, sized: boolean): Want["columns"] {
    const tensor = this.store.view.tensors.find((one) => one.name === name);
    const { plan, frames, frame } = this;
    if (!tensor || !plan) return [];
    const overlay = plan.overlays.some((one) => one.tensor === tensor);
    if (!tensor.sequence || tensor === plan.primary) return overlay ? [] : [{ name, pixels: sized ? factsPixels : 0 }];
    const pixels = sized ? maskSide : 0;
    // Without a frame only captions are shown: with the first item.
    if (!frames || frame < 0) return plan.captions.includes(tensor) ? [{ name, pixels, items: [0, 1] }] : [];
    if (this.fits(tensor) === false) return [{ name, pixels, items: [0, 1] }];
    return [{ name, pixels, items: pieceOf(this.store.peek(this.row, name), frame, frames.count, lengthOf(tensor, frames)) }];
  }

  /** Reports whether a sequence has an item for each frame; undefined: that is not known yet. */
  private fits(tensor: Tensor): boolean | undefined {
    const sample = tensor.sequence ? this.store.peek(this.row, tensor.name) : undefined;
    if (sample?.kind !== "items" || !this.frames) return undefined;
    return sample.count === this.frames.count && !wholeOf(sample);
  }

  private faultOf(tensor: Tensor): string {
    const sample = this.store.peek(this.row, tensor.name);
    const { frames } = this;
    const whole = sample && wholeOf(sample);
    const one = whole ?? (sample?.kind === "items" ? sample.items[this.frame] : undefined);
    if (one?.kind === "error") return `${tensor.name}: ${one.message}`;
    if (sample?.kind !== "items" || !frames || whole || sample.count === frames.count) return "";
    const count = (of: number): string => of.toLocaleString("en");
    return `${tensor.name} is not drawn: ${count(sample.count)} items, ${count(frames.count)} frames`;
  }
}

/** Returns the sample that stands for a sequence that is missing or cannot be read. */
function wholeOf(sample: Sample): Sample | undefined {
  const only = sample.kind === "items" && sample.count === 1 ? sample.items[0] : sample;
  return only?.kind === "missing" || only?.kind === "error" ? only : undefined;
}

/** Returns the items of a piece: fewer of masks, whose bytes grow with the picture. */
export function lengthOf(tensor: Tensor, { width, height }: Size): number {
  if (!isMask(tensor)) return pieceItems;
  const scale = Math.min(1, maskSide / Math.max(width, height, 1));
  return Math.max(1, Math.min(pieceItems, Math.floor(piecePixels / Math.max(1, width * height * scale * scale))));
}

/** Returns the items to request: the piece with a frame, and once it is there the next one. */
export function pieceOf(sample: Sample | undefined, frame: number, frames: number, length: number): Range {
  const first = Math.floor(frame / length) * length;
  const piece = (from: number): Range => [from, Math.min(frames, from + length)];
  const [from, to] = piece(first);
  const complete = sample?.kind === "items" && Array.from({ length: to - from }, (_, i) => sample.items[from + i]).every(Boolean);
  return complete && to < frames ? piece(to) : [from, to];
}
