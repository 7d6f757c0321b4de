// Fills a scene with the cells of a grid: pictures with annotations, captions and messages.

import type { Tensor } from "../../data/protocol";
import type { Film, Sample, SampleStore } from "../../data/samples";
import { formatBytes, formatDuration, formatFilm, plain } from "../format";
import { fit, gapOf, type Rect } from "../geometry";
import { ui } from "../gpu/palettes";
import { code, type Scene } from "../gpu/scene";
import { lineHeight, wrap } from "../gpu/texts";
import { sizeOf } from "../pixels";
import { borderOf, captionOf, itemOf, type Plan } from "../plan";
import type { Painter, PaintOptions } from "./painter";

const textFrom = 64;
const namesFromCell = 160;
const namesFromBox = 28;
const maxMessageLines = 5;

interface Wrapped {
  width: number;
  lines: string[];
}

interface Shown {
  sample: Sample;
  width: number;
  height: number;
}

const maxShown = 8192;

/** The inputs that fill the cells of a grid. */
export interface CellContext {
  scene: Scene;
  store: SampleStore;
  plan: Plan;
  painter: Painter;
  /** Side of the picture of a cell, in CSS pixels, and of its texels. */
  cell: number;
  texels: number;
  captions: number;
}

export class CellFiller {
  private readonly wrapped = new WeakMap<Sample, Wrapped>();
  /** The picture that a row showed last: it stays until a better one is uploaded. */
  private readonly shown = new Map<number, Shown>();

  /** Forgets what rows showed: they belong to another view. */
  reset(): void {
    this.shown.clear();
  }

  /** Fills the cell of a row, with its corner at (x, y) in the world. */
  fill(to: CellContext, row: number, x: number, y: number): void {
    const { primary, panes } = to.plan;
    if (!primary) {
      this.addBorder(to, row, { x, y, width: to.cell, height: to.cell });
      this.fillText(to, row, { x, y, width: to.cell, height: to.cell });
      return;
    }
    for (let pane = 0; pane < panes.length; pane++) {
      const place = { x: x + pane * to.cell, y, width: to.cell, height: to.cell };
      this.fillPane(to, row, primary, pane, place);
    }
    this.addCaptions(to, row, x, y);
  }

  private fillPane(to: CellContext, row: number, primary: Tensor, pane: number, place: Rect): void {
    const sample = itemOf(to.store.peek(row, primary.name), primary, 0);
    const size = sample && sizeOf(sample);
    if (!sample) {
      if (!this.addShown(to, row, place)) this.addMessage(to, place, "…", ui.dim);
    } else if (size) {
      this.fillPicture(to, row, sample, size, place, pane);
    } else if (sample.kind === "text" || sample.kind === "json") {
      to.scene.addGround(place, code(0, ui.cell));
      this.addWrapped(to, sample, place, 0);
    } else {
      this.addMessage(to, place, messageOf(sample, primary), sample.kind === "error" ? ui.error : ui.dim);
    }
  }

  private fillPicture(to: CellContext, row: number, sample: Sample,
    size: { width: number; height: number }, place: Rect, pane: number): void {
    const rect = fit(size.width, size.height, place);
    const { scene, plan, painter } = to;
    this.addBorder(to, row, rect);
    if (plan.primaryIsOverlay) {
      scene.addGround(rect, code(0, ui.cell));
    } else if (scene.addPicture(sample, rect, to.texels)) {
      if (this.shown.size >= maxShown) this.shown.clear();
      this.shown.set(row, { sample, ...size });
    } else if (!this.addShown(to, row, place)) {
      scene.addGround(rect, code(0, ui.cell));
    }
    painter.paint(scene, painter.annotations(to.store, plan, row, 0, size, pane), size, rect,
      optionsOf(to, place));
    if (sample.kind === "picture" && sample.film) this.addMark(to, rect, sample.film);
  }

  /** Marks a picture as that of a video, in its lower left corner, with the length of it. */
  private addMark(to: CellContext, rect: Rect, film: Film): void {
    const text = to.cell >= textFrom ? `▶ ${formatDuration(film.seconds)}` : "▶";
    const y = rect.y + Math.max(0, rect.height - lineHeight);
    to.scene.addText(text, rect.x, y, 0, 0, rect.width, code(0, ui.text, true));
  }

  /** Adds the border that tells the value of the tensor that colours cells. It lies in the gap. */
  private addBorder(to: CellContext, row: number, { x, y, width, height }: Rect): void {
    const { color } = to.plan;
    if (!color) return;
    const at = borderOf(color, itemOf(to.store.peek(row, color.tensor.name), color.tensor, 0));
    if (at === undefined) return;
    // Borders of neighbours do not touch.
    const side = Math.max(1, gapOf(to.cell) / 2 - 1);
    const paint = (x: number, y: number, width: number, height: number): void =>
      to.scene.addGround({ x, y, width, height }, code(color.palette, at));
    paint(x - side, y - side, width + 2 * side, side);
    paint(x - side, y + height, width + 2 * side, side);
    paint(x - side, y, side, height);
    paint(x + width, y, side, height);
  }

  private addShown(to: CellContext, row: number, place: Rect): boolean {
    const shown = this.shown.get(row);
    if (!shown) return false;
    return to.scene.addKnownPicture(shown.sample, fit(shown.width, shown.height, place));
  }

  private addMessage(to: CellContext, place: Rect, message: string, color: number): void {
    to.scene.addGround(place, code(0, ui.cell));
    if (message === "") return;
    const { texts } = to.scene;
    const text = to.cell >= textFrom ? message : message.slice(0, 1);
    const room = to.cell - 4;
    const most = Math.min(maxMessageLines, Math.max(1, Math.floor(to.cell / lineHeight)));
    const lines = wrap(text, room, most, (part) => texts.measure(part));
    lines.forEach((line, i) => {
      const width = Math.min(room, texts.measure(plain(line)));
      to.scene.addText(line, place.x, place.y, Math.max(2, (to.cell - width) / 2),
        (to.cell - lines.length * lineHeight) / 2 + i * lineHeight, room, code(0, color));
    });
  }

  private addCaptions(to: CellContext, row: number, x: number, y: number): void {
    if (to.captions === 0) return;
    to.plan.captions.forEach((tensor, line) => {
      const sample = itemOf(to.store.peek(row, tensor.name), tensor, 0);
      const text = captionOf(tensor, sample, to.plan.captions.length > 1);
      if (text === "") return;
      to.scene.addText(text, x, y + to.cell, 0, line * lineHeight, to.cell * to.plan.panes.length,
        code(0, line === 0 ? ui.text : ui.dim));
    });
  }

  /** Adds the texts of a cell without a picture, one below the other. */
  private fillText(to: CellContext, row: number, place: Rect): void {
    to.scene.addGround(place, code(0, ui.cell));
    let line = 0;
    for (const tensor of to.plan.captions) {
      const sample = itemOf(to.store.peek(row, tensor.name), tensor, 0);
      if (!sample) continue;
      if (sample.kind === "text" || sample.kind === "json") {
        line += this.addWrapped(to, sample, place, line);
        continue;
      }
      const text = captionOf(tensor, sample, to.plan.captions.length > 1) || messageOf(sample);
      if (text === "" || (line + 1) * lineHeight > to.cell) continue;
      to.scene.addText(text, place.x, place.y, 0, line++ * lineHeight, to.cell, code(0, ui.text));
    }
  }

  /** Adds a text on several lines, from a line of the cell on; returns the number of lines. */
  private addWrapped(to: CellContext, sample: Extract<Sample, { text: string }>, place: Rect,
    from: number): number {
    const room = Math.floor(to.cell / lineHeight) - from;
    if (room <= 0) return 0;
    let wrapped = this.wrapped.get(sample);
    if (!wrapped || wrapped.width !== to.cell) {
      const lines = wrap(sample.text, to.cell, Math.ceil(to.cell / lineHeight),
        (text) => to.scene.texts.measure(text));
      wrapped = { width: to.cell, lines };
      this.wrapped.set(sample, wrapped);
    }
    const count = Math.min(room, wrapped.lines.length);
    for (let i = 0; i < count; i++) {
      to.scene.addText(wrapped.lines[i], place.x, place.y, 0, (from + i) * lineHeight, to.cell,
        code(0, ui.text));
    }
    return count;
  }
}

function optionsOf(to: CellContext, place: Rect): PaintOptions {
  return {
    maskSide: to.texels, nameWidth: Math.max(40, to.cell / 2), namesWithin: place, margin: 0,
    namesFrom: to.cell >= namesFromCell ? namesFromBox : Infinity,
  };
}

/** Returns the text of a cell whose sample is no picture. */
export function messageOf(sample: Sample, tensor?: Tensor): string {
  switch (sample.kind) {
    case "missing": return "missing";
    case "error": return `error: ${sample.message}`;
    case "large": return tensor?.draw === "video" ? `▶ video, ${formatBytes(sample.size)}` : largeText(sample);
    case "video": return `▶ ${formatFilm(sample.film)}${sample.message && `: ${sample.message}`}`;
    case "array": return `${sample.dtype} (${sample.shape.join(", ")})`;
    case "items": return `${sample.count} items`;
    default: return "";
  }
}

/** Returns why there is no picture, and the way to it: the single view shows pictures in tiles. */
function largeText({ size, width, height }: Extract<Sample, { kind: "large" }>): string {
  const bytes = size > 0 ? `${formatBytes(size)}, ` : "";
  return width && height ? `${bytes}no thumbnail: open it, or store it with downsample=`
    : `${bytes}too large to show`;
}
