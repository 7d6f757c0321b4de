// The virtual grid: scroll position, selection, and the samples to request.

import type { Sample, SampleStore, Want } from "../../data/samples";
import type { Appearance, Frames, Grid, GridEvents, Hit, OpenGrid } from "../api";
import {
  cellRect, clamp, fit, inside, keepRow, type Layout, layout, linesIn, lineTop, maxCell, minCell,
  rowAt, rowOfKey, rowsOf, scrollbarWidth, scrollOfThumb, scrollToShow, stripTop, thumb,
  thumbnailSize, type Transform,
} from "../geometry";
import { isNewer, type Painted } from "../gpu/lines";
import { groundOf, ui } from "../gpu/palettes";
import { code, type Scene, type Style } from "../gpu/scene";
import { Surface } from "../gpu/surface";
import { lineHeight } from "../gpu/texts";
import { sizeOf } from "../pixels";
import { itemOf, type Plan, planOf } from "../plan";
import { CellFiller } from "./cells";
import { type Gestures, listen } from "./gestures";
import { annotationAt, hitOf } from "./hits";
import { Painter } from "./painter";

const owner = "grid";
const captionsFrom = 96;
const fillFrom = 200;
/** Milliseconds between requests while the grid moves. */
const wantInterval = 80;
/** Part of its speed that a thrown grid keeps each millisecond. */
const friction = 0.997;
const leastSpeed = 0.02;
/** The most shapes of a frame; changed lines then wait for the next frame. */
const shapesOfFrame = 1500;

export const openGrid: OpenGrid = (canvas, events) => new GridView(canvas, events);

class GridView implements Grid, Gestures {
  private readonly surface: Surface;
  private readonly painter = new Painter();
  private readonly filler = new CellFiller();
  private readonly stopListening: () => void;
  private store: SampleStore | undefined;
  private stopStore: (() => void) | undefined;
  private appearance: Appearance = { primary: "", layers: {}, dark: false };
  private plan: Plan | undefined;
  private place: Layout = layout(0, 0, 0, 128, 0);
  private side = 160;
  private scroll = 0;
  private selected = -1;
  private hovered = -1;
  private speed = 0;
  private lastFrame = 0;
  private direction = 1;
  /** Where the thumb of the scrollbar was taken; undefined: it is not dragged. */
  private held: number | undefined;
  private touched = false;

  // Parts that are out of date.
  private staleLines = true;
  private staleSamples = true;
  private stalePalettes = true;

  private wanted = "";
  private wantTimer: ReturnType<typeof setTimeout> | undefined;
  private lastWant = -Infinity;
  private first = -1;
  private count = -1;

  // Kept so that frames allocate nothing.
  private readonly view: Transform = { scale: 1, x: 0, y: 0 };
  private readonly style: Style = { stroke: 2, radius: 3, fill: 0 };

  constructor(canvas: HTMLCanvasElement, private readonly events: GridEvents) {
    this.surface = new Surface(canvas, {
      reset: () => this.resized(), frame: (time) => this.frame(time),
    });
    this.stopListening = listen(canvas, this);
    this.surface.start();
  }

  // Grid.

  setStore(store: SampleStore): void {
    if (this.store === store) return;
    this.stopStore?.();
    this.store?.want([], owner);
    this.store = store;
    this.stopStore = store.subscribe(() => this.changed());
    this.filler.reset();
    this.scroll = 0;
    this.speed = 0;
    this.selected = -1;
    this.hovered = -1;
    this.replan();
  }

  setAppearance(appearance: Appearance): void {
    this.appearance = appearance;
    this.replan();
  }

  setCell(pixels: number): void {
    this.resize(pixels, 0, 0);
  }

  scrollTo(row: number): void {
    const line = Math.floor(clamp(row, 0, Math.max(0, this.place.rows - 1)) / this.place.columns);
    this.moveTo(line * this.place.stepY);
  }

  select(row: number): void {
    if (!Number.isSafeInteger(row) || row < 0 || row >= this.place.rows) return;
    this.selected = row;
    this.moveTo(scrollToShow(this.place, this.scroll, row));
    this.surface.invalidate();
  }

  key(e: KeyboardEvent): boolean {
    if (e.ctrlKey || e.metaKey || e.altKey) return false;
    if (e.key === "Enter" && this.selected >= 0) {
      this.events.opened(this.selected);
      return true;
    }
    // Without a selection the first key selects the first row in sight.
    const start = this.selected >= 0 ? this.selected : Math.max(0, this.first);
    const row = rowOfKey(this.place, e.key, start);
    if (row === undefined) return false;
    this.choose(this.selected < 0 && e.key.startsWith("Arrow") ? start : row);
    return true;
  }

  frames(): Frames {
    const { frames, scene } = this.surface;
    const { store, plan, first, count } = this;
    const complete = scene !== undefined && !this.staleLines && !this.staleSamples &&
      store !== undefined && plan !== undefined && count > 0 &&
      this.isThere(store, plan, { from: first, to: first + count });
    return { drawn: frames.drawn, times: frames.times(), first, count, complete };
  }

  destroy(): void {
    clearTimeout(this.wantTimer);
    this.stopListening();
    this.stopStore?.();
    this.store?.want([], owner);
    this.surface.destroy();
  }

  // Gestures.

  wheel(dx: number, dy: number): void {
    this.speed = 0;
    this.moveTo(this.scroll + (Math.abs(dy) >= Math.abs(dx) ? dy : dx));
  }

  zoom(factor: number, x: number, y: number): void {
    const before = Math.round(this.side);
    this.resize(this.side * factor, x, y);
    const after = Math.round(this.side);
    if (after !== before) this.events.resized?.(after);
  }

  press(x: number, y: number): void {
    this.speed = 0;
    this.held = undefined;
    const bar = thumb(this.place, this.scroll);
    if (!bar || x < bar.x) return;
    if (!inside(bar, x, y)) this.moveTo(scrollOfThumb(this.place, y - bar.height / 2));
    this.held = y - (thumb(this.place, this.scroll)?.y ?? 0);
  }

  drag(_x: number, y: number, _dx: number, dy: number, touch: boolean): void {
    if (this.held !== undefined) this.moveTo(scrollOfThumb(this.place, y - this.held));
    else if (touch) this.moveTo(this.scroll - dy);
  }

  release(_vx: number, vy: number, touch: boolean): void {
    if (touch && this.held === undefined) {
      this.speed = -vy;
      this.lastFrame = performance.now();
      this.surface.invalidate();
    }
    this.touched = this.held !== undefined;
    this.held = undefined;
  }

  tap(x: number, y: number, double: boolean): void {
    if (this.touched) return;
    const row = rowAt(this.place, this.scroll, x, y);
    if (row < 0) return;
    if (double) this.events.opened(row);
    else this.choose(row);
  }

  hover(x: number, y: number): void {
    const row = rowAt(this.place, this.scroll, x, y);
    this.setHovered(row);
    this.events.hovered(row < 0 ? null : this.hit(row, x, y));
  }

  leave(): void {
    this.setHovered(-1);
    this.events.hovered(null);
  }

  private setHovered(row: number): void {
    if (row === this.hovered) return;
    this.hovered = row;
    this.surface.invalidate();
  }

  private hit(row: number, x: number, y: number): Hit {
    const { store, plan } = this;
    const sample = plan?.primary && itemOf(store?.peek(row, plan.primary.name), plan.primary, 0);
    const size = sample && sizeOf(sample);
    if (!store || !plan || !size) return { row };
    const cell = cellRect(this.place, this.scroll, row);
    const side = this.place.cell;
    const pane = clamp(Math.floor((x - cell.x) / side), 0, plan.panes.length - 1);
    const rect = fit(size.width, size.height, { x: cell.x + pane * side, y: cell.y, width: side, height: side });
    if (!inside(rect, x, y)) return { row };
    const px = (x - rect.x) / rect.width * size.width;
    const py = (y - rect.y) / rect.height * size.height;
    const found = annotationAt(this.painter.annotations(store, plan, row, 0, size, pane), size, px, py,
      6 * size.width / rect.width, (one, place) =>
        one.hidden.has(place));
    return hitOf(row, px, py, found);
  }

  private choose(row: number): void {
    this.select(row);
    this.events.selected(row);
  }

  // State.

  private resized(): void {
    this.stalePalettes = true;
    this.relayout(0, 0);
  }

  private replan(): void {
    if (!this.store) return;
    this.plan = planOf(this.store.view, this.appearance);
    this.stalePalettes = true;
    this.wanted = "";
    this.relayout(0, 0);
  }

  private resize(pixels: number, x: number, y: number): void {
    if (!Number.isFinite(pixels)) return;
    this.side = clamp(pixels, minCell, maxCell);
    this.relayout(x, y);
  }

  /** Lays the grid out again, and keeps the row under a point of the window in its place. */
  private relayout(x: number, y: number): void {
    const { surface } = this;
    const before = this.place;
    const cell = Math.round(this.side);
    const lines = cell >= captionsFrom && this.plan?.primary ? this.plan.captions.length : 0;
    const rows = this.store?.view.rows ?? 0;
    this.place = layout(surface.width, surface.height, rows, cell, lines * lineHeight,
      this.plan?.panes.length);
    if (before.rows === rows && rows > 0) {
      const under = rowAt(before, this.scroll, x, y);
      const row = under >= 0 ? under : rowsOf(before, linesIn(before, this.scroll, 1)).from;
      this.scroll = keepRow(before, this.scroll, this.place, row);
    }
    this.staleLines = true;
    this.moveTo(this.scroll);
    surface.invalidate();
  }

  private changed(): void {
    this.staleSamples = true;
    this.surface.invalidate();
    this.wantLater();
  }

  private moveTo(scroll: number): void {
    const to = clamp(scroll, 0, this.place.maxScroll);
    if (to !== this.scroll) this.direction = to > this.scroll ? 1 : -1;
    const moved = to !== this.scroll;
    this.scroll = to;
    if (moved) this.surface.invalidate();
    const rows = rowsOf(this.place, linesIn(this.place, to, this.place.height));
    if (rows.from !== this.first || rows.to - rows.from !== this.count) {
      this.first = rows.from;
      this.count = rows.to - rows.from;
      this.events.scrolled(this.first, this.count);
    }
    this.wantLater();
  }

  // Requests.

  private wantLater(): void {
    if (this.wantTimer !== undefined) return;
    const wait = Math.max(0, this.lastWant + wantInterval - performance.now());
    this.wantTimer = setTimeout(() => {
      this.wantTimer = undefined;
      this.lastWant = performance.now();
      this.want();
    }, wait);
  }

  /** Requests the visible samples, then those of one more screen. */
  private want(): void {
    const { store, plan, place } = this;
    if (!store || !plan || place.height === 0) return;
    const lines = linesIn(place, this.scroll, place.height);
    const sight = rowsOf(place, lines);
    const texels = thumbnailSize(place.cell, this.surface.ratio);
    const complete = this.isThere(store, plan, sight);
    const key = `${sight.from} ${sight.to} ${texels} ${complete ? this.direction : 0}`;
    if (key === this.wanted) return;
    this.wanted = key;
    const columns = plan.columns.map(({ name, sized }) => ({ name, pixels: sized ? texels : 0 }));
    const wants: Want[] = [{ rows: rowList(sight), columns }];
    if (complete) {
      const screen = lines.to - lines.from;
      const ahead = this.direction > 0
        ? { from: lines.to, to: Math.min(place.lines, lines.to + screen) }
        : { from: Math.max(0, lines.from - screen), to: lines.from };
      wants.push({ rows: rowList(rowsOf(place, ahead)), columns });
    }
    store.want(wants, owner);
  }

  private isThere(store: SampleStore, plan: Plan, rows: { from: number; to: number }): boolean {
    for (let row = rows.from; row < rows.to; row++) {
      for (const { name } of plan.columns) if (!store.peek(row, name)) return false;
    }
    return true;
  }

  // Frames.

  private frame(time: number): void {
    const { scene } = this.surface;
    const { place, surface, view } = this;
    if (!scene) return;
    this.glide(time);
    if (this.stalePalettes) {
      scene.palettes.set(this.appearance.dark, this.plan?.palettes ?? []);
      this.stalePalettes = false;
    }
    this.style.stroke = Math.max(1, Math.round((place.cell >= captionsFrom ? 2 : 1) * surface.ratio));
    this.style.radius = (place.cell >= fillFrom ? 3 : 2) * surface.ratio;
    this.style.fill = place.cell >= fillFrom ? 0.12 : 0;
    view.scale = surface.ratio;
    const lines = linesIn(place, this.scroll, place.height);
    this.paintLines(scene, lines);
    this.showLines(scene, lines);
    // The world starts at the first line, so that 32 bits hold places exactly.
    const anchor = lines.from * place.stepY;
    this.frameCells(anchor);
    this.drawScrollbar();
    view.y = Math.round((anchor - this.scroll) * surface.ratio);
    scene.drawLines(surface.canvas.width, surface.canvas.height, view, this.style,
      groundOf(this.appearance.dark));
    if (this.staleSamples || this.speed !== 0) surface.invalidate();
  }

  /** Moves a grid that was thrown. */
  private glide(time: number): void {
    if (this.speed === 0) return;
    const passed = clamp(time - this.lastFrame, 0, 100);
    this.lastFrame = time;
    const before = this.scroll;
    this.moveTo(this.scroll + this.speed * passed);
    this.speed *= friction ** passed;
    const stopped = passed > 0 && this.scroll === before;
    if (Math.abs(this.speed) < leastSpeed || stopped) this.speed = 0;
  }

  /**
   * Paints the lines in sight that the cache lacks, and changed ones, within a bound of shapes.
   * Beyond it, a line that the cache lacks shows its pictures alone for some frames: a zoom, which
   * changes all lines in each frame, would show few frames otherwise.
   */
  private paintLines(scene: Scene, lines: { from: number; to: number }): void {
    scene.beginFrame();
    if (this.staleLines) this.forgetLines(scene);
    let shapes = 0;
    let painted = false;
    let left = false;
    for (let line = lines.from; line < lines.to; line++) {
      const known = scene.lineCache.slots.get(line);
      if (known && !(this.staleSamples && this.isStale(known))) continue;
      // A changed line shows its older samples for a few frames more.
      if (known && shapes > shapesOfFrame) {
        left = true;
        continue;
      }
      const bare = shapes > shapesOfFrame;
      this.paintLine(scene, line, bare);
      shapes += scene.shapeCount();
      painted = true;
      left ||= bare || scene.pending;
    }
    this.staleSamples = left;
    if (!painted) this.paintAhead(scene, lines);
  }

  /** Paints the next line beyond the window, so that no later frame paints many. */
  private paintAhead(scene: Scene, lines: { from: number; to: number }): void {
    const { place, plan, store } = this;
    const room = Math.min(scene.lineCache.slots.count - (lines.to - lines.from), aheadOf(lines));
    for (let n = 0; n < room; n++) {
      const line = this.direction > 0 ? lines.to + n : lines.from - 1 - n;
      if (!store || !plan || line < 0 || line >= place.lines) return;
      const known = scene.lineCache.slots.get(line);
      if (known && !this.isStale(known)) continue;
      if (!this.isThere(store, plan, rowsOf(place, { from: line, to: line + 1 }))) return;
      this.paintLine(scene, line);
      return;
    }
  }

  /** Empties the cache, and makes room for the lines of the window and some around them. */
  private forgetLines(scene: Scene): void {
    const { place, surface } = this;
    const inSight = Math.ceil(place.height / place.stepY) + 1;
    scene.lineCache.reset(surface.canvas.width, Math.ceil(place.stepY * surface.ratio) + 1,
      inSight + aheadOf({ from: 0, to: inSight }));
    this.staleLines = false;
    this.staleSamples = true;
  }

  private isStale(known: Painted): boolean {
    const { place, plan, store } = this;
    if (known.pending) return true;
    if (!plan || !store) return false;
    const rows = rowsOf(place, { from: known.line, to: known.line + 1 });
    let at = 0;
    for (let row = rows.from; row < rows.to; row++) {
      for (const { name } of plan.columns) {
        if (isNewer(store.peek(row, name), known.samples[at++])) return true;
      }
    }
    return false;
  }

  /** Paints a line; a bare one without annotations, which it awaits. */
  private paintLine(scene: Scene, line: number, bare = false): void {
    const { place, store, surface, painter } = this;
    const plan = bare && this.plan ? { ...this.plan, overlays: [] } : this.plan;
    const rows = rowsOf(place, { from: line, to: line + 1 });
    const samples: (Sample | undefined)[] = [];
    const anchor = line * place.stepY;
    scene.begin();
    painter.begin();
    if (store && plan) {
      const captions = Math.round((place.cellHeight - place.cell) / lineHeight);
      const texels = thumbnailSize(place.cell, surface.ratio);
      const context = { scene, store, plan, painter, cell: place.cell, texels, captions };
      for (let row = rows.from; row < rows.to; row++) {
        for (const { name } of plan.columns) samples.push(store.peek(row, name));
        const x = place.left + (row - rows.from) * place.stepX;
        this.filler.fill(context, row, x, lineTop(place, line) - anchor);
      }
    }
    scene.end();
    this.view.y = anchor * surface.ratio - stripTop(place, line, surface.ratio);
    scene.lineCache.paint({ line, samples, pending: bare || scene.pending }, (width, height, bottom) =>
      scene.paint(width, height, bottom, this.view, this.style, groundOf(this.appearance.dark)));
  }

  private showLines(scene: Scene, lines: { from: number; to: number }): void {
    const { place, surface: { ratio } } = this;
    const scrolled = Math.round(this.scroll * ratio);
    scene.lineCache.begin();
    for (let line = lines.from; line < lines.to; line++) {
      const top = stripTop(place, line, ratio);
      scene.lineCache.show(line, top - scrolled, stripTop(place, line + 1, ratio) - top);
    }
  }

  private frameCells(anchor: number): void {
    const { scene } = this.surface;
    if (!scene) return;
    scene.frames.begin();
    if (this.hovered >= 0) this.frameCell(this.hovered, anchor, ui.hover);
    if (this.selected >= 0) this.frameCell(this.selected, anchor, ui.accent);
    scene.frames.end();
  }

  private frameCell(row: number, anchor: number, color: number): void {
    // A row far away would not fit the 32 bits of the world.
    const rect = cellRect(this.place, anchor, row);
    if (Math.abs(rect.y) < 1e6) this.surface.scene?.frames.add(rect, code(0, color));
  }

  private drawScrollbar(): void {
    const { scene } = this.surface;
    const bar = thumb(this.place, this.scroll);
    if (!scene) return;
    scene.chrome.begin();
    if (bar) {
      const { height } = this.place;
      scene.chrome.add({ x: bar.x, y: 0, width: scrollbarWidth, height }, code(0, ui.track));
      scene.chrome.add({ ...bar, x: bar.x + 2, width: scrollbarWidth - 4 }, code(0, ui.thumb));
    }
    scene.chrome.end();
  }
}

/** Returns the lines that are painted beyond the window. */
function aheadOf(lines: { from: number; to: number }): number {
  return Math.max(1, Math.ceil((lines.to - lines.from) / 4));
}

function rowList({ from, to }: { from: number; to: number }): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
