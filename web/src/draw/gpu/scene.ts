// The content of a canvas. It is filled when data changes, and drawn with two uniforms a frame.

import type { Sample } from "../../data/samples";
import type { Rect, Transform } from "../geometry";
import {
  defaultRange, drawnChannels, maxPlanes, planesOfGroup, type Range, rasterOf, toBits, toFloats,
  toRgba, toSegments,
} from "../pixels";
import {
  type Attribute, Batch, type Format, floats, integers, Program, r16ui, r32f, r32ui, r8ui, rgba32f,
  rgba8, ring, ringArea, vertex,
} from "./gl";
import { Layer } from "./layer";
import { LineCache } from "./lines";
import { Palettes } from "./palettes";
import { putRect, Rects } from "./rects";
import * as shaders from "./shaders";
import { Texts } from "./texts";
import { Atlas, type Page, type Placed, shrunk, Singles, type Upload } from "./textures";

const pictureQuad: Attribute[] = [floats(4), floats(4), floats(1)];
const segmentQuad: Attribute[] = [floats(4), floats(4), floats(1), integers(1)];
const bitsQuad: Attribute[] =
  [...segmentQuad, integers(4), integers(4), integers(4), integers(4)];

/** Makes a code for the shaders: a place in a palette, and a flag. */
export function code(palette: number, place: number, flag = false): number {
  return (place | palette << 16 | (flag ? 1 << 24 : 0)) >>> 0;
}

export interface Style {
  /** Device pixels. */
  stroke: number;
  radius: number;
  /** Opacity of the fill of shapes, as part of the opacity of the layer. */
  fill: number;
}

/** Milliseconds of a frame that uploads may take before the rest waits for the next frame. */
const uploadTime = 6;
/** More boxes than this are drawn without fill, which costs the most where there is no GPU. */
const maxFilled = 3000;
/** More shapes than this are drawn to a layer, which then moves with the picture. */
const maxDirect = 1000;

type Programs = Record<"picture" | "segments" | "bits" | "ring" | "rect" | "triangle" | "line"
  | "point" | "text", Program>;

export class Scene {
  readonly palettes: Palettes;
  readonly texts: Texts;
  readonly lineCache: LineCache;
  /** The frames around cells. */
  readonly frames: Rects;
  /** The rectangles over all else, in CSS pixels of the window. */
  readonly chrome: Rects;
  /** Uploads wait for the next frame: fill the scene again then. */
  pending = false;
  /** Overlays are drawn scaled: draw again after `restTime`. */
  coarse = false;

  private readonly programs: Programs;
  private readonly pictures: Atlas;
  private readonly segments8: Atlas;
  private readonly segments16: Atlas;
  private readonly bits: Atlas;
  private readonly wholePictures: Singles;
  private readonly wholeSegments: Singles;
  private readonly wholeBits: Singles;
  private readonly grounds: Batch;
  private readonly triangles: Batch;
  private readonly boxes: Batch;
  private readonly lines: Batch;
  private readonly points: Batch;
  private readonly words: Batch;
  private readonly groups = new WeakMap<Sample, Sample[]>();
  private readonly maxSide: number;
  private readonly ranges = new WeakMap<Sample, Range>();
  private readonly layer: Layer;
  private deadline = 0;
  private lastKey = "";
  private changed = false;
  /** Counts the fillings. */
  private version = 0;
  private uploaded = false;
  private width = 0;
  private height = 0;
  private view: Transform = { scale: 1, x: 0, y: 0 };
  private style: Style = { stroke: 1, radius: 1, fill: 0 };

  constructor(private readonly gl: WebGL2RenderingContext, ratio: number) {
    this.maxSide = Math.min(8192, gl.getParameter(gl.MAX_TEXTURE_SIZE) as number);
    this.programs = makePrograms(gl);
    this.palettes = new Palettes(gl);
    this.texts = new Texts(gl, ratio);
    this.pictures = new Atlas(gl, rgba8, pictureQuad);
    this.segments8 = new Atlas(gl, r8ui, segmentQuad);
    this.segments16 = new Atlas(gl, r16ui, segmentQuad);
    this.bits = new Atlas(gl, r32ui, bitsQuad);
    this.wholePictures = new Singles(gl, pictureQuad);
    this.wholeSegments = new Singles(gl, segmentQuad);
    this.wholeBits = new Singles(gl, bitsQuad);
    const rect = [floats(4), integers(1)];
    this.grounds = new Batch(gl, rect);
    this.triangles = new Batch(gl, [floats(2), integers(1)], vertex);
    this.boxes = new Batch(gl, rect, ring);
    this.lines = new Batch(gl, rect);
    this.points = new Batch(gl, [floats(2), integers(1)]);
    this.words = new Batch(gl, [floats(2), floats(4), floats(2), integers(1)]);
    this.frames = new Rects(new Batch(gl, rect, ring));
    this.chrome = new Rects(new Batch(gl, rect));
    this.layer = new Layer(gl);
    this.lineCache = new LineCache(gl);
  }

  /** Starts the time that one frame has for uploads. */
  beginFrame(): void {
    this.deadline = performance.now() + uploadTime;
    this.uploaded = false;
  }

  /** Empties the scene; samples that are added again keep their texels. */
  begin(): void {
    this.pending = false;
    if (this.texts.full) this.texts.reset();
    for (const part of this.textured()) part.begin();
    for (const part of this.shapes()) part.reset();
  }

  /** Uploads the added samples. */
  end(): void {
    this.wholePictures.end();
    this.wholeSegments.end();
    this.wholeBits.end();
    for (const part of this.textured()) for (const page of part.pages) page.quads.upload();
    for (const part of this.shapes()) part.upload();
    this.version++;
  }

  private textured(): (Atlas | Singles)[] {
    return [this.pictures, this.segments8, this.segments16, this.bits, this.wholePictures,
      this.wholeSegments, this.wholeBits];
  }

  private shapes(): Batch[] {
    return [this.grounds, this.triangles, this.boxes, this.lines, this.points, this.words];
  }

  /** Reports whether this frame has time for an upload; each frame has time for one. */
  private mayUpload(): boolean {
    if (this.uploaded && performance.now() > this.deadline) {
      this.pending = true;
      return false;
    }
    this.uploaded = true;
    return true;
  }

  /** Adds the picture of a cell, at most `side` texels large; false: it waits, or is no picture. */
  addPicture(sample: Sample, rect: Rect, side: number): boolean {
    let placed = this.pictures.get(sample);
    if (!placed) {
      if (!this.mayUpload()) return false;
      const texels = pictureTexels(sample, side);
      placed = texels && this.pictures.put(sample, texels);
    }
    if (placed) addQuad(placed, rect);
    return placed !== undefined;
  }

  /**
   * Adds a picture whose texels are still there, even after its sample left; false: they are not.
   */
  addKnownPicture(sample: Sample, rect: Rect): boolean {
    const placed = this.pictures.get(sample);
    if (placed) addQuad(placed, rect);
    return placed !== undefined;
  }

  /** Adds a picture in full size. A window maps its values to black and white. */
  addWholePicture(sample: Sample, rect: Rect, window: Range | null): boolean {
    let placed = this.wholePictures.get(sample);
    if (!placed) {
      const made = wholeTexels(sample, this.maxSide);
      if (!made) return false;
      placed = this.wholePictures.put(sample, made.format, made.texels);
      placed.page.gray = made.gray;
    }
    if (sample.kind === "array" && sample.dtype !== "uint8" && sample.dtype !== "bool") {
      const range = window ?? this.rangeOf(sample);
      placed.page.low = range.low;
      placed.page.high = range.high;
    }
    addQuad(placed, rect);
    return true;
  }

  private rangeOf(sample: Extract<Sample, { kind: "array" }>): Range {
    let range = this.ranges.get(sample);
    if (!range) {
      range = defaultRange(sample);
      this.ranges.set(sample, range);
    }
    return range;
  }

  /** A mask of classes or instances. `side` 0: in full size. */
  addSegments(sample: Sample, rect: Rect, palette: number, side: number): void {
    if (sample.kind !== "array") return;
    const bytes = sample.dtype === "uint8" || sample.dtype === "bool";
    const atlas = bytes ? this.segments8 : this.segments16;
    let placed = side > 0 ? atlas.get(sample) : this.wholeSegments.get(sample);
    if (!placed) {
      if (side > 0 && !this.mayUpload()) return;
      const made = toSegments(sample, side || this.maxSide);
      if (!made) return;
      const texels = { width: made.width, height: made.height, source: made.data };
      placed = side > 0 ? atlas.put(sample, texels)
        : this.wholeSegments.put(sample, bytes ? r8ui : r16ui, texels);
    }
    if (placed) placed.page.quads.u[addQuad(placed, rect) + 9] = code(palette, 0);
  }

  /** Boolean masks; `codes` are the classes' places in the palette. `side` 0: in full size. */
  addMasks(sample: Sample, rect: Rect, palette: number, codes: (mask: number) => number,
    side: number): void {
    const raster = rasterOf(sample);
    if (!raster || sample.kind !== "array") return;
    const planes = Math.min(maxPlanes, raster.channels);
    for (let group = 0; group * planesOfGroup < planes; group++) {
      const first = group * planesOfGroup;
      const key = this.groupKey(sample, group);
      let placed = side > 0 ? this.bits.get(key) : this.wholeBits.get(key);
      if (!placed) {
        if (side > 0 && !this.mayUpload()) return;
        const made = toBits(sample, side || Math.min(4096, this.maxSide), first);
        if (!made) return;
        const texels = { width: made.width, height: made.height, source: made.data };
        placed = side > 0 ? this.bits.put(key, texels) : this.wholeBits.put(key, r32ui, texels);
      }
      if (!placed) return;
      const at = addQuad(placed, rect);
      const { u } = placed.page.quads;
      u[at + 9] = code(palette, 0);
      u.fill(0, at + 10, at + 26);
      for (let i = 0; i < planesOfGroup && first + i < planes; i++) {
        u[at + 10 + (i >> 1)] |= codes(first + i) << 16 * (i & 1);
      }
    }
  }

  /** Returns the key of 32 masks of a sample, which have texels of their own. */
  private groupKey(sample: Sample, group: number): Sample {
    if (group === 0) return sample;
    let keys = this.groups.get(sample);
    if (!keys) this.groups.set(sample, keys = []);
    return keys[group] ??= { kind: "missing" };
  }

  addGround(rect: Rect, color: number): void {
    putRect(this.grounds, rect.x, rect.y, rect.x + rect.width, rect.y + rect.height, color);
  }

  addBox(left: number, top: number, right: number, bottom: number, color: number): void {
    putRect(this.boxes, left, top, right, bottom, color);
  }

  addLine(x0: number, y0: number, x1: number, y1: number, color: number): void {
    putRect(this.lines, x0, y0, x1, y1, color);
  }

  addVertex(x: number, y: number, color: number): void {
    putPoint(this.triangles, x, y, color);
  }

  addPoint(x: number, y: number, color: number): void {
    putPoint(this.points, x, y, color);
  }

  /**
   * Adds a text of one line of at most `width` CSS pixels, its corner at (dx, dy) CSS pixels from a
   * point of the world. Returns its width.
   */
  addText(text: string, x: number, y: number, dx: number, dy: number, width: number,
    color: number): number {
    const place = this.texts.place(text, width);
    if (!place) return 0;
    const at = this.words.next();
    const { f, u } = this.words;
    const { ratio } = this.texts;
    f[at] = x;
    f[at + 1] = y;
    f[at + 2] = dx * ratio;
    f[at + 3] = dy * ratio;
    f[at + 4] = place.width;
    f[at + 5] = place.height;
    f[at + 6] = place.x;
    f[at + 7] = place.y;
    u[at + 8] = color;
    return place.width / ratio;
  }

  /** Returns the width of a text that is cut off at `width`, in CSS pixels. */
  textWidth(text: string, width: number): number {
    return (this.texts.place(text, width)?.width ?? 0) / this.texts.ratio;
  }

  /** Draws the scene in the window. Many overlays go to a layer that moves with the view. */
  draw(width: number, height: number, view: Transform, style: Style, ground: readonly number[]): void {
    this.start(width, height, view, style, ground);
    this.drawPictures();
    this.coarse = false;
    if (this.shapeCount() > maxDirect) this.drawLayer(view, width, height);
    else this.drawOverlays();
  }

  /** Draws the scene into the framebuffer that is bound, `bottom` pixels above its lower side. */
  paint(width: number, height: number, bottom: number, view: Transform, style: Style,
    ground: readonly number[]): void {
    this.start(width, height, view, style, ground, bottom);
    this.drawPictures();
    this.drawOverlays();
  }

  /** Draws the lines that the cache shows, and the frames and the chrome over them. */
  drawLines(width: number, height: number, view: Transform, style: Style, ground: readonly number[]): void {
    const { gl, programs } = this;
    this.start(width, height, view, style, ground);
    this.lineCache.draw(width, height);
    this.use(programs.ring);
    gl.uniform1f(programs.ring.place("uStroke"), style.stroke * 1.5);
    gl.uniform1f(programs.ring.place("uFill"), 1);
    this.frames.draw();
    if (this.chrome.count === 0) return;
    this.use(programs.rect);
    gl.uniform3f(programs.rect.place("uView"), this.texts.ratio, 0, 0);
    gl.uniform1f(programs.rect.place("uFill"), 1);
    this.chrome.draw();
  }

  private start(width: number, height: number, view: Transform, style: Style,
    ground: readonly number[], bottom = 0): void {
    const { gl } = this;
    this.look(view, width, height);
    this.style = style;
    gl.viewport(0, bottom, width, height);
    gl.clearColor(ground[0] / 255, ground[1] / 255, ground[2] / 255, ground[3] ?? 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.palettes.bind();
  }

  private drawPictures(): void {
    const { gl, programs } = this;
    this.use(programs.rect);
    gl.uniform1f(programs.rect.place("uFill"), 1);
    this.grounds.draw();
    this.use(programs.picture);
    this.drawPages(this.pictures.pages, programs.picture);
    this.drawPages(this.wholePictures.pages, programs.picture);
  }

  private look(view: Transform, width: number, height: number): void {
    Object.assign(this, { view, width, height });
  }

  private use(program: Program): void {
    const { gl, view } = this;
    program.use();
    gl.uniform3f(program.place("uView"), view.scale, view.x, view.y);
    gl.uniform2f(program.place("uWindowSize"), this.width, this.height);
    gl.uniform1f(program.place("uStroke"), this.style.stroke);
  }

  /** Counts the shapes of the scene. They take most of the time of a painting. */
  shapeCount(): number {
    return this.shapes().reduce((sum, { count }) => sum + count, 0);
  }

  private drawLayer(view: Transform, width: number, height: number): void {
    const { stroke, radius, fill } = this.style;
    const key = `${this.version} ${this.palettes.version} ${stroke} ${radius} ${fill}`;
    const changed = key !== this.lastKey;
    const changing = changed && this.changed;
    this.lastKey = key;
    this.changed = changed;
    // A scene that changes in every frame would use each layer once.
    if (changing) {
      this.drawOverlays();
      return;
    }
    this.coarse = this.layer.draw(view, width, height, key, performance.now(),
      (larger, layerWidth, layerHeight) => {
        this.look(larger, layerWidth, layerHeight);
        this.drawOverlays();
        this.look(view, width, height);
      });
  }

  private drawOverlays(): void {
    const { programs } = this;
    this.use(programs.segments);
    this.drawPages(this.segments8.pages);
    this.drawPages(this.segments16.pages);
    this.drawPages(this.wholeSegments.pages);
    this.use(programs.bits);
    this.drawPages(this.bits.pages);
    this.drawPages(this.wholeBits.pages);
    this.drawShapes();
  }

  private drawShapes(): void {
    const { gl, programs, style } = this;
    this.use(programs.triangle);
    gl.uniform1f(programs.triangle.place("uFill"), style.fill);
    this.triangles.draw();
    if (this.boxes.count <= maxFilled && style.fill > 0) {
      this.use(programs.ring);
      gl.uniform1f(programs.ring.place("uStroke"), 0);
      gl.uniform1f(programs.ring.place("uFill"), style.fill);
      this.boxes.draw(ringArea);
    }
    this.use(programs.line);
    this.lines.draw();
    this.use(programs.ring);
    gl.uniform1f(programs.ring.place("uFill"), 1);
    this.boxes.draw();
    this.use(programs.point);
    gl.uniform1f(programs.point.place("uRadius"), style.radius);
    this.points.draw();
    this.use(programs.text);
    this.texts.bind();
    this.words.draw();
  }

  private drawPages(pages: readonly Page[], picture?: Program): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0);
    for (const page of pages) {
      if (page.quads.count === 0) continue;
      gl.bindTexture(gl.TEXTURE_2D_ARRAY, page.texture);
      if (picture) {
        const span = page.high - page.low;
        gl.uniform2f(picture.place("uTextureSize"), page.width, page.height);
        gl.uniform2f(picture.place("uRange"), page.low, span > 0 ? 1 / span : 0);
        gl.uniform1i(picture.place("uGray"), page.gray ? 1 : 0);
      }
      page.quads.draw();
    }
  }

  /** Frees the memory of the scene on the GPU. */
  delete(): void {
    for (const part of this.textured()) part.delete();
    for (const part of this.shapes()) part.delete();
    this.frames.delete();
    this.chrome.delete();
    this.layer.delete();
    this.lineCache.delete();
    this.texts.delete();
    this.palettes.delete();
    for (const program of Object.values(this.programs)) program.delete();
  }
}

function makePrograms(gl: WebGL2RenderingContext): Programs {
  const s = shaders;
  return {
    picture: new Program(gl, s.pictureVertex, s.pictureFragment),
    segments: new Program(gl, s.segmentsVertex, s.segmentsFragment),
    bits: new Program(gl, s.bitsVertex, s.bitsFragment),
    ring: new Program(gl, s.ringVertex, s.flatFragment),
    rect: new Program(gl, s.rectVertex, s.flatFragment),
    triangle: new Program(gl, s.triangleVertex, s.flatFragment),
    line: new Program(gl, s.lineVertex, s.lineFragment),
    point: new Program(gl, s.pointVertex, s.pointFragment),
    text: new Program(gl, s.textVertex, s.textFragment),
  };
}

function addQuad({ page, layer, x, y, width, height }: Placed, rect: Rect): number {
  const at = page.quads.next();
  const { f } = page.quads;
  f[at] = rect.x;
  f[at + 1] = rect.y;
  f[at + 2] = rect.x + rect.width;
  f[at + 3] = rect.y + rect.height;
  f[at + 4] = x;
  f[at + 5] = y;
  f[at + 6] = x + width;
  f[at + 7] = y + height;
  f[at + 8] = layer;
  return at;
}

function putPoint(into: Batch, x: number, y: number, color: number): void {
  const at = into.next();
  into.f[at] = x;
  into.f[at + 1] = y;
  into.u[at + 2] = color;
}

function pictureTexels(sample: Sample, side: number): Upload | undefined {
  if (sample.kind === "picture") return shrunk(sample.bitmap, side);
  if (sample.kind !== "array") return undefined;
  const made = toRgba(sample, side);
  return made && { width: made.width, height: made.height, source: made.data };
}

function wholeTexels(sample: Sample, maxSide: number):
  { format: Format; texels: Upload; gray: boolean } | undefined {
  if (sample.kind === "picture") {
    return { format: rgba8, texels: shrunk(sample.bitmap, maxSide), gray: false };
  }
  const raster = rasterOf(sample);
  if (!raster || sample.kind !== "array") return undefined;
  if (sample.dtype === "uint8" || sample.dtype === "bool") {
    const made = toRgba(sample, maxSide);
    return made && { format: rgba8, gray: false,
      texels: { width: made.width, height: made.height, source: made.data } };
  }
  // Four channels of 32 bits take much memory: such pictures are made smaller than others.
  const side = drawnChannels(raster.channels) === 1 ? Math.min(maxSide, 4096) : 2048;
  const made = toFloats(sample, side);
  return made && { format: made.channels === 1 ? r32f : rgba32f, gray: made.channels === 1,
    texels: { width: made.width, height: made.height, source: made.data } };
}
