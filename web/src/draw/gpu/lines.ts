// Caches painted lines of a grid: scrolling copies lines and paints none.

import type { Sample } from "../../data/samples";
import { Batch, floats, Program, rgba8, textureArray } from "./gl";
import { linesFragment, linesVertex } from "./shaders";

/** A zoom changes sizes in each frame: textures are larger than needed, and serve several sizes. */
const slack = 1.25;
const maxSlack = 3;

/** A line in the cache. */
export interface Painted {
  line: number;
  /** The samples that the line was painted from, in the order of its rows and columns. */
  samples: readonly (Sample | undefined)[];
  /** Uploads were left out: paint the line again. */
  pending: boolean;
}

/** The places of lines in layers: each layer holds `perLayer` lines, one above the other. */
export interface Packing {
  layers: number;
  perLayer: number;
}

/**
 * The packing of `count` lines of `height` texels. WebGL2 promises 256 layers alone, and small
 * cells make more lines in a large window.
 */
export function packing(count: number, height: number, maxLayers: number, maxSide: number): Packing {
  const layers = Math.min(maxLayers, count);
  const fits = Math.max(1, Math.floor(maxSide / height));
  return { layers, perLayer: Math.min(fits, Math.ceil(count / layers)) };
}

/** Maps lines to places in layers: line n has place n modulo the number of places. */
export class LineSlots {
  private slots: (Painted | undefined)[] = [];
  private perLayer = 1;

  /** Sets the places for lines, and forgets all lines. */
  reset({ layers, perLayer }: Packing): void {
    this.slots = Array.from({ length: layers * perLayer }, () => undefined);
    this.perLayer = perLayer;
  }

  get count(): number {
    return this.slots.length;
  }

  /** Returns the layer of a line, and its place in it from the bottom. */
  layer(line: number): number {
    return Math.floor(this.slot(line) / this.perLayer);
  }

  place(line: number): number {
    return this.slot(line) % this.perLayer;
  }

  get(line: number): Painted | undefined {
    const found = this.slots[this.slot(line)];
    return found?.line === line ? found : undefined;
  }

  set(painted: Painted): void {
    this.slots[this.slot(painted.line)] = painted;
  }

  private slot(line: number): number {
    return line % this.slots.length;
  }
}

/** Another sample came than the painted one. An evicted sample (undefined) changes nothing. */
export function isNewer(now: Sample | undefined, painted: Sample | undefined): boolean {
  return now !== undefined && now !== painted;
}

/**
 * Painted lines, in the layers of an array of textures. Software GL copies a line in a fraction
 * of the time that it paints pictures, masks and boxes.
 */
export class LineCache {
  readonly slots = new LineSlots();
  private readonly program: Program;
  private readonly quads: Batch;
  private readonly framebuffer: WebGLFramebuffer;
  private readonly maxLayers: number;
  private readonly maxSide: number;
  private texture: WebGLTexture | undefined;
  private width = 0;
  private height = 0;
  private packed: Packing = { layers: 0, perLayer: 0 };

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = new Program(gl, linesVertex, linesFragment);
    this.quads = new Batch(gl, [floats(4), floats(2)]);
    this.framebuffer = gl.createFramebuffer();
    this.maxLayers = gl.getParameter(gl.MAX_ARRAY_TEXTURE_LAYERS) as number;
    this.maxSide = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
  }

  /** Forgets all lines. Later ones have at most `height` device pixels, and `count` are kept. */
  reset(width: number, height: number, count: number): void {
    const { gl, slots, maxLayers, maxSide } = this;
    const fits = width === this.width && height <= this.height && count <= slots.count &&
      this.height * slots.count <= maxSlack * height * count;
    if (!fits || !this.texture) {
      if (this.texture) gl.deleteTexture(this.texture);
      Object.assign(this, { width, height: Math.min(maxSide, Math.ceil(slack * height)) });
      this.packed = packing(Math.ceil(slack * count), this.height, maxLayers, maxSide);
      const { layers, perLayer } = this.packed;
      gl.activeTexture(gl.TEXTURE0);
      this.texture = textureArray(gl, { ...rgba8, linear: false }, width, perLayer * this.height, layers, 1);
    }
    slots.reset(this.packed);
  }

  /** Paints a line: `paint` draws it into a window of the given size, `bottom` texels above the
   * lowest. */
  paint(painted: Painted, paint: (width: number, height: number, bottom: number) => void): void {
    const { gl, texture, width, height } = this;
    if (!texture) return;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.framebufferTextureLayer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, texture, 0,
      this.slots.layer(painted.line));
    // Clearing leaves the other lines of the layer unchanged.
    const bottom = height * this.slots.place(painted.line);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, bottom, width, height);
    paint(width, height, bottom);
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    this.slots.set(painted);
  }

  /** Empties the list of lines to show. */
  begin(): void {
    this.quads.reset();
  }

  /** Shows a line of `height` device pixels, whose top is at `y` in the window. */
  show(line: number, y: number, height: number): void {
    const at = this.quads.next();
    const { f } = this.quads;
    f[at] = 0;
    f[at + 1] = y;
    f[at + 2] = this.width;
    f[at + 3] = y + height;
    f[at + 4] = this.slots.layer(line);
    f[at + 5] = this.height * (this.slots.place(line) + 1);
  }

  draw(width: number, height: number): void {
    const { gl, program, quads } = this;
    if (!this.texture || quads.count === 0) return;
    quads.upload();
    program.use();
    gl.uniform3f(program.place("uView"), 1, 0, 0);
    gl.uniform2f(program.place("uWindowSize"), width, height);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.texture);
    gl.disable(gl.BLEND);
    quads.draw();
    gl.enable(gl.BLEND);
  }

  delete(): void {
    const { gl } = this;
    if (this.texture) gl.deleteTexture(this.texture);
    gl.deleteFramebuffer(this.framebuffer);
    this.quads.delete();
    this.program.delete();
  }
}
