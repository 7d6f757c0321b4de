// A picture too large for one texture: tiles of the level of the zoom, over a coarse picture.

import type { PartOfPicture, RegionWant, Sample, SampleStore } from "../../data/samples";
import { clamp, type Rect, type Zoom } from "../geometry";

/** Texels of a tile, along each side. */
export const tileSide = 512;
/** Texels of the coarse picture, along its longer side. */
export const baseSide = 2048;
/** Pictures of more pixels are drawn in tiles. */
export const hugePixels = 1 << 24;
/** A picture in one piece with longer sides is drawn with fewer texels than it has. */
const maxTexture = 8192;
const maxFlights = 4;
const defaultBytes = 192 * (1 << 20);
/** Milliseconds until a failed tile in sight is requested again; they double up to the most. */
const retryAfter = 4000;
const mostRetryAfter = 64_000;

export interface Size {
  width: number;
  height: number;
}

/** A tile of a level: each of its texels covers 2^level x 2^level pixels. */
export interface Tile {
  level: number;
  x: number;
  y: number;
}

export function keyOf({ level, x, y }: Tile): string {
  return `${level}/${x}/${y}`;
}

/** The level whose texels are as small as those of the window, but not smaller than needed. */
export function levelOf(scale: number): number {
  return Math.max(0, Math.floor(Math.log2(1 / scale) + 1e-9));
}

/** Returns the pixels of a tile. */
export function boundsOf({ level, x, y }: Tile, size: Size): RegionWant["region"] {
  const side = tileSide * 2 ** level;
  return [y * side, x * side, Math.min((y + 1) * side, size.height),
    Math.min((x + 1) * side, size.width)];
}

/** Returns the tiles of a level that a part of the picture shows, from its middle outwards. */
export function tilesIn(part: Rect, level: number, size: Size): Tile[] {
  const side = tileSide * 2 ** level;
  const last = (length: number): number => Math.ceil(length / side) - 1;
  const right = part.x + part.width;
  const bottom = part.y + part.height;
  if (right <= 0 || bottom <= 0 || part.x >= size.width || part.y >= size.height) return [];
  const tiles: Tile[] = [];
  const toX = clamp(Math.ceil(right / side) - 1, 0, last(size.width));
  const toY = clamp(Math.ceil(bottom / side) - 1, 0, last(size.height));
  for (let y = Math.max(0, Math.floor(part.y / side)); y <= toY; y++) {
    for (let x = Math.max(0, Math.floor(part.x / side)); x <= toX; x++) tiles.push({ level, x, y });
  }
  const far = ({ x, y }: Tile): number => Math.hypot((x + 0.5) * side - part.x - part.width / 2,
    (y + 0.5) * side - part.y - part.height / 2);
  return tiles.sort((a, b) => far(a) - far(b));
}

/** Returns the part of the picture that a window shows. */
export function partOf(zoom: Zoom, width: number, height: number): Rect {
  return {
    x: -zoom.x / zoom.scale, y: -zoom.y / zoom.scale, width: width / zoom.scale,
    height: height / zoom.scale,
  };
}

export interface TilesOptions {
  bytes?: number;
  now?: () => number;
  /** Runs a function later; the returned function cancels it. */
  later?: (run: () => void, after: number) => () => void;
}

interface Failure {
  at: number;
  wait: number;
}

function laterByTimer(run: () => void, after: number): () => void {
  const timer = setTimeout(run, after);
  return () => clearTimeout(timer);
}

const baseKey = "base";

/** The tiles of one picture: requests those in sight, cancels others, keeps some within a bound. */
export class Tiles {
  private readonly kept = new Map<string, PartOfPicture>();
  private readonly flights = new Map<string, AbortController>();
  private readonly failed = new Map<string, Failure>();
  private readonly bound: number;
  private readonly now: () => number;
  private readonly later: (run: () => void, after: number) => () => void;
  private readonly retries = new Set<() => void>();
  private bytes = 0;
  private wanted: Tile[] = [];
  private inSight = new Set<string>([baseKey]);
  private part: Rect = { x: 0, y: 0, width: 0, height: 0 };
  private closed = false;

  constructor(private readonly store: Pick<SampleStore, "region">,
    private readonly of: { row: number; column: string; item?: number }, readonly size: Size,
    private readonly changed: () => void, options: TilesOptions = {}) {
    this.bound = options.bytes ?? defaultBytes;
    this.now = options.now ?? (() => performance.now());
    this.later = options.later ?? laterByTimer;
  }

  isOf(row: number, column: string, item: number | undefined, size: Size): boolean {
    return this.of.row === row && this.of.column === column && this.of.item === item
      && this.size.width === size.width && this.size.height === size.height;
  }

  /** The coarse picture, once it has come. */
  get base(): Sample | undefined {
    return this.kept.get(baseKey)?.sample;
  }

  /** Sets the part in the window, and its device pixels for each pixel. True: the tiles changed. */
  look(part: Rect, scale: number): boolean {
    const longer = Math.max(this.size.width, this.size.height);
    const level = levelOf(scale);
    this.part = part;
    this.wanted = 2 ** level >= longer / baseSide ? [] : tilesIn(part, level, this.size);
    const before = this.inSight;
    this.inSight = new Set([baseKey, ...this.wanted.map(keyOf)]);
    for (const [key, flight] of this.flights) {
      if (this.inSight.has(key)) continue;
      this.flights.delete(key);
      flight.abort();
    }
    this.request();
    return before.size !== this.inSight.size || [...before].some((key) => !this.inSight.has(key));
  }

  /** Returns the tiles that are there for the part in sight, the coarsest first. */
  shown(): PartOfPicture[] {
    const shown: PartOfPicture[] = [];
    const add = (key: string): boolean => {
      const one = this.kept.get(key);
      if (!one) return false;
      // The last ones are the ones used last.
      this.kept.delete(key);
      this.kept.set(key, one);
      shown.push(one);
      return true;
    };
    add(baseKey);
    const level = this.wanted[0]?.level;
    if (level === undefined) return shown;
    if (this.wanted.some((tile) => !this.kept.has(keyOf(tile)))) {
      for (let above = level + 3; above > level; above--) {
        for (const tile of tilesIn(this.part, above, this.size)) add(keyOf(tile));
      }
    }
    for (const tile of this.wanted) add(keyOf(tile));
    return shown;
  }

  close(): void {
    this.closed = true;
    for (const cancel of this.retries) cancel();
    this.retries.clear();
    for (const flight of this.flights.values()) flight.abort();
    this.flights.clear();
    for (const one of this.kept.values()) closePart(one);
    this.kept.clear();
    this.bytes = 0;
  }

  private request(): void {
    const { width, height } = this.size;
    this.send(baseKey, [0, 0, height, width], baseSide);
    for (const tile of this.wanted) {
      if (this.flights.size >= maxFlights) return;
      this.send(keyOf(tile), boundsOf(tile, this.size), tileSide);
    }
  }

  private send(key: string, region: RegionWant["region"], pixels: number): void {
    if (this.closed || this.kept.has(key) || this.flights.has(key)) return;
    const failure = this.failed.get(key);
    if (failure && failure.at + failure.wait > this.now()) return;
    const abort = new AbortController();
    this.flights.set(key, abort);
    this.store.region({ ...this.of, region, pixels }, abort.signal).then((part) => {
      if (this.flights.get(key) !== abort) {
        closePart(part);
        return;
      }
      this.failed.delete(key);
      this.keep(key, part);
    }, () => {
      if (this.flights.get(key) === abort) this.retry(key, failure);
    }).finally(() => {
      if (this.flights.get(key) !== abort) return;
      this.flights.delete(key);
      this.request();
      this.changed();
    });
  }

  /** Requests a tile again after a while, if it is still in sight then. */
  private retry(key: string, before: Failure | undefined): void {
    const wait = Math.min(2 * (before?.wait ?? retryAfter / 2), mostRetryAfter);
    this.failed.set(key, { at: this.now(), wait });
    const cancel = this.later(() => {
      this.retries.delete(cancel);
      this.request();
    }, wait);
    this.retries.add(cancel);
  }

  private keep(key: string, part: PartOfPicture): void {
    this.kept.set(key, part);
    this.bytes += bytesOf(part);
    for (const [old, one] of this.kept) {
      if (this.bytes <= this.bound) return;
      if (this.inSight.has(old)) continue;
      this.kept.delete(old);
      this.bytes -= bytesOf(one);
      closePart(one);
    }
  }
}

function bytesOf({ sample }: PartOfPicture): number {
  if (sample.kind === "picture") return 4 * sample.bitmap.width * sample.bitmap.height;
  return (sample.data as ArrayLike<number> & { byteLength?: number }).byteLength
    ?? 8 * sample.data.length;
}

function closePart({ sample }: PartOfPicture): void {
  if (sample.kind === "picture") sample.bitmap.close();
}

/** Returns the size of a picture that is drawn in tiles; undefined: the picture is smaller. */
export function hugeSize(sample: Sample | undefined): Size | undefined {
  if (sample?.kind !== "large" && sample?.kind !== "picture" && sample?.kind !== "array") {
    return undefined;
  }
  const { width, height } = sample;
  if (!width || !height || sample.kind !== "large" && width * height <= hugePixels) return undefined;
  const whole = sample.kind === "picture" && sample.bitmap.width >= width;
  return whole && Math.max(width, height) <= maxTexture ? undefined : { width, height };
}

/** Reports whether samples may be so large that their size must be known before they are read. */
export function mayBeHuge(shape: readonly number[] | null | undefined): boolean {
  return shape !== null && shape !== undefined && shape.length >= 2
    && shape[0] * shape[1] > hugePixels;
}
