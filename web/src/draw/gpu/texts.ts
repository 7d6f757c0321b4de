// Draws each distinct text once, and keeps it in a texture.

import { cut, plain } from "../format";

/** Where a text lies in the texture, in texels. */
export interface TextPlace {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const textSide = 2048;
const fontPixels = 12;
const padding = 4;

/** Height of a line of text in CSS pixels. */
export const lineHeight = 16;

/** Rows of texts: each goes to the right of the one before, or starts a new row. */
export class Shelves {
  private x = 0;
  private y = 0;

  constructor(private readonly side: number, private readonly height: number) {}

  /** undefined: there is no room. */
  place(width: number): { x: number; y: number } | undefined {
    if (this.x + width > this.side) {
      this.x = 0;
      this.y += this.height;
    }
    if (width > this.side || this.y + this.height > this.side) return undefined;
    const place = { x: this.x, y: this.y };
    this.x += width;
    return place;
  }
}

/** Cuts a text into lines of at most so many pixels, at spaces where there are any. */
export function wrap(text: string, width: number, most: number,
  measure: (text: string) => number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.slice(0, most * 400).split(/\r\n|\r|\n/)) {
    let rest = plain(paragraph, most * 400);
    while (rest !== "" && lines.length < most) {
      const count = fitting(rest, width, measure);
      const space = count < rest.length ? rest.lastIndexOf(" ", count) : -1;
      const end = space > 0 ? space : count;
      lines.push(rest.slice(0, end).trim());
      rest = rest.slice(end).trim();
    }
    if (lines.length >= most) break;
  }
  return lines;
}

/** Returns the number of characters that fit in a width; at least one. */
function fitting(text: string, width: number, measure: (text: string) => number): number {
  let low = 1;
  let high = Math.min(text.length, 400);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(text.slice(0, middle)) <= width) low = middle;
    else high = middle - 1;
  }
  return cut(text, low).length || low;
}

export class Texts {
  private readonly places = new Map<string, TextPlace>();
  private readonly widths = new Map<string, number>();
  private shelves: Shelves;
  private readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly texture: WebGLTexture;
  private readonly height: number;
  private isFull = false;

  constructor(private readonly gl: WebGL2RenderingContext, readonly ratio: number) {
    this.height = Math.ceil(lineHeight * ratio);
    this.shelves = new Shelves(textSide, this.height);
    this.canvas = document.createElement("canvas");
    this.canvas.width = 1024;
    this.canvas.height = this.height;
    const context = this.canvas.getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("this browser has no 2D canvas, which texts are drawn with");
    this.context = context;
    this.texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R8, textSide, textSide);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    this.setFont();
  }

  /** Texts found no room since the last reset. */
  get full(): boolean {
    return this.isFull;
  }

  /** Forgets all texts. Places from before are no longer valid. */
  reset(): void {
    this.places.clear();
    this.widths.clear();
    this.shelves = new Shelves(textSide, this.height);
    this.isFull = false;
  }

  /** Returns the width in CSS pixels, with the space around the text. */
  measure(text: string): number {
    return this.context.measureText(text).width / this.ratio + 2 * padding;
  }

  /**
   * Returns the place of a text of at most `width` CSS pixels; longer texts end with an ellipsis.
   */
  place(text: string, width: number): TextPlace | undefined {
    const most = Math.min(this.canvas.width, Math.floor(width * this.ratio));
    const key = plain(text);
    let whole = this.widths.get(key);
    if (whole === undefined) {
      whole = Math.ceil(this.measure(key) * this.ratio);
      this.widths.set(key, whole);
    }
    if (whole <= most) return this.places.get(key) ?? this.draw(key, key);
    // Widths are stepped, so that zooming does not draw the same text at each width.
    const step = most - most % 16;
    const shortKey = `${step}\0${key}`;
    return this.places.get(shortKey) ?? this.draw(shortKey, this.shorten(key, step));
  }

  bind(): void {
    this.gl.activeTexture(this.gl.TEXTURE0);
    this.gl.bindTexture(this.gl.TEXTURE_2D, this.texture);
  }

  delete(): void {
    this.gl.deleteTexture(this.texture);
  }

  private setFont(): void {
    this.context.font = `${fontPixels * this.ratio}px system-ui, "Segoe UI", Roboto, sans-serif`;
    this.context.textBaseline = "middle";
  }

  private shorten(text: string, most: number): string {
    const free = most - 2 * padding * this.ratio;
    const measure = (part: string): number => this.context.measureText(`${part}…`).width;
    if (text.length === 0 || measure("") > free) return "";
    const count = fitting(text, free, measure);
    return measure(text.slice(0, count)) <= free ? `${text.slice(0, count)}…` : "…";
  }

  private draw(key: string, text: string): TextPlace | undefined {
    const { context, canvas, gl } = this;
    const width = Math.min(canvas.width, Math.ceil(this.measure(text) * this.ratio));
    const at = this.shelves.place(width);
    if (!at) {
      this.isFull = true;
      return undefined;
    }
    context.fillStyle = "#000";
    context.fillRect(0, 0, width, this.height);
    context.fillStyle = "#fff";
    context.fillText(text, padding * this.ratio, this.height / 2);
    this.bind();
    const pixels = context.getImageData(0, 0, width, this.height).data;
    const ink = new Uint8Array(width * this.height);
    for (let i = 0; i < ink.length; i++) ink[i] = pixels[4 * i];
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, at.x, at.y, width, this.height, gl.RED, gl.UNSIGNED_BYTE, ink);
    const place = { ...at, width, height: this.height };
    this.places.set(key, place);
    return place;
  }
}
