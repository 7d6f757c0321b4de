// Keeps the texels of samples on the GPU: in slots of an atlas, or each in a texture of its own.

import type { Sample } from "../../data/samples";
import { type Attribute, Batch, type Format, textureArray } from "./gl";
import { Slots } from "./slots";

/** One array of textures and the quads that are drawn from it: one draw call. */
export interface Page {
  texture: WebGLTexture;
  width: number;
  height: number;
  quads: Batch;
  /** Of pictures of numbers: one channel, and the values of black and white. */
  gray: boolean;
  low: number;
  high: number;
}

/** Where the texels of a sample are. */
export interface Placed {
  page: Page;
  layer: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Texels to upload: a bitmap, a canvas or a typed array. */
export interface Upload {
  width: number;
  height: number;
  source: ImageBitmap | HTMLCanvasElement | ArrayBufferView;
}

export const atlasSide = 1024;
const layersOfPage = 8;
const maxPages = 4;

function upload(gl: WebGL2RenderingContext, format: Format, x: number, y: number, layer: number,
  { width, height, source }: Upload): void {
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, !ArrayBuffer.isView(source));
  if (ArrayBuffer.isView(source)) {
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, layer, width, height, 1,
      format.format, format.type, source);
  } else {
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, x, y, layer, width, height, 1,
      format.format, format.type, source);
  }
}

/** Many small rasters. Each key of a turn keeps its place until the next turn. */
export class Atlas {
  readonly pages: Page[] = [];
  private slots = new Slots<Sample>(atlasSide, layersOfPage, maxPages);
  private readonly placed = new WeakMap<Sample, { width: number; height: number }>();

  constructor(private readonly gl: WebGL2RenderingContext, private readonly format: Format,
    private readonly attributes: readonly Attribute[]) {}

  begin(): void {
    this.slots.begin();
    for (const page of this.pages) page.quads.reset();
  }

  get(key: Sample): Placed | undefined {
    const slot = this.slots.get(key);
    const size = slot && this.placed.get(key);
    if (!slot || !size) return undefined;
    return { page: this.pages[slot.page], layer: slot.layer, x: slot.x, y: slot.y, ...size };
  }

  /** undefined: visible pictures fill the atlas. */
  put(key: Sample, texels: Upload): Placed | undefined {
    const { gl } = this;
    const slot = this.slots.take(key, Math.max(texels.width, texels.height));
    if (!slot) return undefined;
    while (this.pages.length <= slot.page) this.addPage();
    const page = this.pages[slot.page];
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, page.texture);
    upload(gl, this.format, slot.x, slot.y, slot.layer, texels);
    const size = { width: texels.width, height: texels.height };
    this.placed.set(key, size);
    return { page, layer: slot.layer, x: slot.x, y: slot.y, ...size };
  }

  delete(): void {
    for (const page of this.pages) deletePage(this.gl, page);
    this.pages.length = 0;
  }

  private addPage(): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0);
    const texture = textureArray(gl, this.format, atlasSide, atlasSide, layersOfPage, 1);
    this.pages.push({
      texture, width: atlasSide, height: atlasSide, quads: new Batch(gl, this.attributes),
      gray: false, low: 0, high: 1,
    });
  }
}

/** A few large rasters, each with its own texture and, where that is allowed, smaller levels. */
export class Singles {
  readonly pages: Page[] = [];
  private readonly held = new Map<Sample, { page: Page; stamp: number; turn: number }>();
  private now = 0;
  private uses = 0;

  constructor(private readonly gl: WebGL2RenderingContext,
    private readonly attributes: readonly Attribute[]) {}

  begin(): void {
    this.now++;
    for (const { page } of this.held.values()) page.quads.reset();
  }

  get(key: Sample): Placed | undefined {
    const one = this.held.get(key);
    if (!one) return undefined;
    one.stamp = this.now;
    one.turn = this.uses++;
    return { page: one.page, layer: 0, x: 0, y: 0, width: one.page.width, height: one.page.height };
  }

  put(key: Sample, format: Format, texels: Upload): Placed {
    const { gl } = this;
    const { width, height } = texels;
    const levels = format.linear ? Math.floor(Math.log2(Math.max(width, height))) + 1 : 1;
    gl.activeTexture(gl.TEXTURE0);
    const texture = textureArray(gl, format, width, height, 1, levels);
    upload(gl, format, 0, 0, 0, texels);
    if (levels > 1) gl.generateMipmap(gl.TEXTURE_2D_ARRAY);
    const page: Page = {
      texture, width, height, quads: new Batch(gl, this.attributes),
      gray: false, low: 0, high: 1,
    };
    this.held.set(key, { page, stamp: this.now, turn: this.uses++ });
    this.pages.push(page);
    return { page, layer: 0, x: 0, y: 0, width, height };
  }

  /** Frees the rasters that this turn did not use. Later ones lie above earlier ones. */
  end(): void {
    for (const [key, { page, stamp }] of this.held) {
      if (stamp === this.now) continue;
      deletePage(this.gl, page);
      this.pages.splice(this.pages.indexOf(page), 1);
      this.held.delete(key);
    }
    if (this.pages.length < 2) return;
    const turns = new Map([...this.held.values()].map(({ page, turn }) => [page, turn]));
    this.pages.sort((a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0));
  }

  delete(): void {
    for (const page of this.pages) deletePage(this.gl, page);
    this.pages.length = 0;
    this.held.clear();
  }
}

function deletePage(gl: WebGL2RenderingContext, page: Page): void {
  gl.deleteTexture(page.texture);
  page.quads.delete();
}

let scratch: HTMLCanvasElement | undefined;

/**
 * Shrinks a bitmap until its longer side has at most so many pixels; it is valid until the next
 * call.
 */
export function shrunk(bitmap: ImageBitmap, side: number): Upload {
  const longer = Math.max(bitmap.width, bitmap.height);
  if (longer <= side) return { width: bitmap.width, height: bitmap.height, source: bitmap };
  const width = Math.max(1, Math.round(bitmap.width * side / longer));
  const height = Math.max(1, Math.round(bitmap.height * side / longer));
  scratch ??= document.createElement("canvas");
  scratch.width = width;
  scratch.height = height;
  const context = scratch.getContext("2d");
  if (!context) throw new Error("this browser has no 2D canvas");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  return { width, height, source: scratch };
}
