// A picture of the overlays, which is moved and scaled until it is drawn again.

import type { Transform } from "../geometry";
import { Batch, floats, Program } from "./gl";
import { layerFragment, layerVertex } from "./shaders";

/** The part of the window that the layer covers beyond each of its edges. */
const margin = 0.25;
/** Milliseconds without a change of scale after which a layer is drawn again. */
export const restTime = 150;
/** A layer is scaled by at most this factor, or its inverse. */
const maxScaled = 2;

/** Where a layer lies in the window, in device pixels, and its size there over its own size. */
export interface Shift {
  x: number;
  y: number;
  scale: number;
}

/** The place of a layer that was drawn for `from`, with its corner at (-left, -top), in `to`. */
export function shiftOf(from: Transform, to: Transform, left: number, top: number): Shift {
  const scale = to.scale / from.scale;
  return {
    scale,
    x: to.x - (from.x + left) * scale,
    y: to.y - (from.y + top) * scale,
  };
}

/** Reports whether a layer covers the window. */
export function covers(shift: Shift, size: { width: number; height: number }, width: number,
  height: number): boolean {
  return shift.x <= 0 && shift.y <= 0 && shift.x + size.width * shift.scale >= width &&
    shift.y + size.height * shift.scale >= height;
}

/**
 * A framebuffer that holds overlays. Without a GPU, thousands of shapes take longer than a frame;
 * to move them as one picture takes as long as one rectangle.
 */
export class Layer {
  private readonly program: Program;
  private readonly quad: Batch;
  private texture: WebGLTexture | null = null;
  private framebuffer: WebGLFramebuffer | null = null;
  private width = 0;
  private height = 0;
  /** The content of the texture; undefined: nothing yet. */
  private held: { view: Transform; left: number; top: number; key: string } | undefined;
  private lastScale = 0;
  private lastChange = 0;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = new Program(gl, layerVertex, layerFragment);
    this.quad = new Batch(gl, [floats(4)]);
    this.quad.next();
  }

  /**
   * Draws overlays in the window.
   *
   * `key` names their content; `paint` draws them for a view in a window of some size. Returns
   * true if they are scaled from a layer of another scale: a frame after `restTime` draws them
   * sharply.
   */
  draw(view: Transform, width: number, height: number, key: string, now: number,
    paint: (view: Transform, width: number, height: number) => void): boolean {
    if (view.scale !== this.lastScale) {
      this.lastScale = view.scale;
      this.lastChange = now;
    }
    const { held } = this;
    let shift = held?.key === key ? shiftOf(held.view, view, held.left, held.top) : undefined;
    if (shift && this.isStale(shift, width, height, now)) shift = undefined;
    shift ??= this.repaint(view, width, height, key, paint);
    this.show(shift, width, height);
    return shift.scale !== 1;
  }

  private isStale(shift: Shift, width: number, height: number, now: number): boolean {
    if (shift.scale === 1) return !covers(shift, { width: this.width, height: this.height }, width, height);
    return now - this.lastChange >= restTime || shift.scale > maxScaled ||
      shift.scale < 1 / maxScaled;
  }

  private repaint(view: Transform, width: number, height: number, key: string,
    paint: (view: Transform, width: number, height: number) => void): Shift {
    const { gl } = this;
    const left = Math.round(margin * width);
    const top = Math.round(margin * height);
    this.resize(width + 2 * left, height + 2 * top);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.viewport(0, 0, this.width, this.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    paint({ scale: view.scale, x: view.x + left, y: view.y + top }, this.width, this.height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    this.held = { view: { ...view }, left, top, key };
    return shiftOf(view, view, left, top);
  }

  private resize(width: number, height: number): void {
    if (this.texture && width === this.width && height === this.height) return;
    const { gl } = this;
    this.free();
    this.texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, width, height);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    }
    this.framebuffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.texture, 0);
    Object.assign(this, { width, height });
  }

  private show(shift: Shift, width: number, height: number): void {
    const { gl, program, quad } = this;
    quad.f[0] = shift.x;
    quad.f[1] = shift.y;
    quad.f[2] = shift.x + this.width * shift.scale;
    quad.f[3] = shift.y + this.height * shift.scale;
    quad.upload();
    program.use();
    gl.uniform3f(program.place("uView"), 1, 0, 0);
    gl.uniform2f(program.place("uWindowSize"), width, height);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    quad.draw();
  }

  private free(): void {
    this.gl.deleteTexture(this.texture);
    this.gl.deleteFramebuffer(this.framebuffer);
    this.texture = null;
    this.framebuffer = null;
    this.held = undefined;
  }

  delete(): void {
    this.free();
    this.quad.delete();
    this.program.delete();
  }
}
