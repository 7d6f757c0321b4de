// Caches painted lines of a grid: scrolling copies lines and paints none.

import type { Sample } from "./api";
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

/** Maps lines to layers of a texture array: line n has layer n modulo the number of layers. */
export class LineSlots {
  private slots: (Painted | undefined)[] = [];

  /** Sets the number of lines that are kept, and forgets all. */
  reset(count: number): void {
    this.slots = Array.from({ length: count }, () => undefined);
  }

  get count(): number {
    return this.slots.length;
  }

  layer(line: number): number {
    return line % this.slots.length;
  }

  get(line: number): Painted | undefined {
    const found = this.slots[this.layer(line)];
    return found?.line === line ? found : undefined;
  }

  set(painted: Painted): void {
    this.slots[this.layer(painted.line)] = painted;
  }
}

/** Another sample came than the painted one. An evicted sample (undefined) changes nothing. */
export function isNewer(now: Sample | undefined, painted: Sample | undefined): boolean {
  return now !== undefined && now !== painted;
}

/**
 * Painted lines, each in a layer of an array of textures. Software GL copies a line in a fraction
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

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = new Program(gl, linesVertex, linesFragment);
    this.quads = new Batch(gl, [floats(4), floats(1)]);
    this.framebuffer = gl.createFramebuffer();
    this.maxLayers = gl.getParameter(gl.MAX_ARRAY_TEXTURE_LAYERS) as number;
    this.maxSide = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
  }

  /** Forgets all lines. Later ones have at most `height` device pixels, and `count` are kept. */
  reset(width: number, height: number, count: number): void {
    const { gl, slots } = this;
    const fits = width === this.width && height <= this.height && count <= slots.count &&
      this.height * slots.count <= maxSlack * height * count;
    if (!fits || !this.texture) {
      if (this.texture) gl.deleteTexture(this.texture);
      const layers = Math.min(this.maxLayers, Math.ceil(slack * count));
      Object.assign(this, { width, height: Math.min(this.maxSide, Math.ceil(slack * height)) });
      gl.activeTexture(gl.TEXTURE0);
      this.texture = textureArray(gl, { ...rgba8, linear: false }, width, this.height, layers, 1);
      slots.reset(layers);
    } else {
      slots.reset(slots.count);
    }
  }

  /** Paints a line: `paint` draws it into a window of the given size. */
  paint(painted: Painted, paint: (width: number, height: number) => void): void {
    const { gl, texture } = this;
    if (!texture) return;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.framebufferTextureLayer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, texture, 0,
      this.slots.layer(painted.line));
    paint(this.width, this.height);
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
  }

  draw(width: number, height: number): void {
    const { gl, program, quads } = this;
    if (!this.texture || quads.count === 0) return;
    quads.upload();
    program.use();
    gl.uniform3f(program.place("uView"), 1, 0, 0);
    gl.uniform2f(program.place("uWindowSize"), width, height);
    gl.uniform1f(program.place("uHeight"), this.height);
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
