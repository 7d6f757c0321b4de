// The colours of the interface and of the classes of each layer, as one array of textures.

import {
  fillPalette, fillRamp, maxPalettes, paletteSize, type PaletteState, type Rgb,
} from "../colors";
import { rgba8, textureArray } from "./gl";

/** Colours of the interface: their places in palette 0. */
export const ui = {
  ground: 0, cell: 1, text: 2, dim: 3, accent: 4, hover: 5, track: 6, thumb: 7, error: 8, shade: 9,
} as const;

type Rgba = readonly [number, number, number, number];

const darkUi: readonly Rgba[] = [
  [18, 19, 22, 255], [30, 32, 37, 255], [228, 230, 235, 255], [150, 155, 165, 255],
  [84, 160, 255, 255], [255, 255, 255, 90], [38, 40, 46, 255], [110, 115, 126, 255],
  [255, 128, 118, 255], [0, 0, 0, 150],
];
const lightUi: readonly Rgba[] = [
  [250, 250, 251, 255], [234, 236, 240, 255], [25, 28, 34, 255], [96, 102, 112, 255],
  [0, 98, 214, 255], [0, 0, 0, 90], [228, 230, 234, 255], [150, 155, 164, 255],
  [190, 30, 20, 255], [255, 255, 255, 170],
];

export function groundOf(dark: boolean): Rgb {
  const [r, g, b] = (dark ? darkUi : lightUi)[ui.ground];
  return [r, g, b];
}

export class Palettes {
  /** Counts the changes. */
  version = 0;
  private texture: WebGLTexture | undefined;
  private layers = 0;
  private dark: boolean | undefined;
  private states: PaletteState[] = [];
  private readonly texels = new Uint8Array(4 * paletteSize);

  constructor(private readonly gl: WebGL2RenderingContext) {}

  /** Uploads the palettes that changed; palette 1 is the first of `states`. */
  set(dark: boolean, states: PaletteState[]): void {
    const { gl } = this;
    const layers = Math.min(maxPalettes, states.length + 1);
    gl.activeTexture(gl.TEXTURE1);
    if (!this.texture || layers !== this.layers) {
      if (this.texture) gl.deleteTexture(this.texture);
      this.texture = textureArray(gl, { ...rgba8, linear: false }, 256, 256, layers, 1);
      this.layers = layers;
      this.dark = undefined;
    }
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, this.texture);
    if (this.dark !== dark) this.uploadUi(dark);
    for (let i = 0; i + 1 < layers; i++) {
      if (this.dark === dark && same(this.states[i], states[i])) continue;
      const { opacity, hidden, background, ramp } = states[i];
      if (ramp) fillRamp(this.texels, dark, opacity);
      else fillPalette(this.texels, dark, opacity, hidden, background);
      this.upload(i + 1);
    }
    this.dark = dark;
    this.states = states;
  }

  bind(): void {
    this.gl.activeTexture(this.gl.TEXTURE1);
    this.gl.bindTexture(this.gl.TEXTURE_2D_ARRAY, this.texture ?? null);
  }

  delete(): void {
    if (this.texture) this.gl.deleteTexture(this.texture);
  }

  private uploadUi(dark: boolean): void {
    this.texels.fill(0);
    (dark ? darkUi : lightUi).forEach((color, at) => this.texels.set(color, 4 * at));
    this.upload(0);
  }

  private upload(layer: number): void {
    const { gl } = this;
    this.version++;
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, 256, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE,
      this.texels);
  }
}

function same(a: PaletteState | undefined, b: PaletteState): boolean {
  return a !== undefined && a.opacity === b.opacity && a.hidden === b.hidden
    && a.background === b.background && a.ramp === b.ramp;
}
