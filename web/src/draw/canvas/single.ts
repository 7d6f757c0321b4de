// One sample with pan and zoom.

import type { Sample, SampleStore, Want } from "../../data/samples";
import type { Appearance, Hit, Look, OpenSingle, Single } from "../api";
import { plain } from "../format";
import {
  clamp, inside, keepInSight, toPicture, type Transform, type Zoom, zoomAt, zoomToFit,
} from "../geometry";
import { restTime } from "../gpu/layer";
import { groundOf, ui } from "../gpu/palettes";
import { code, type Style } from "../gpu/scene";
import { Surface } from "../gpu/surface";
import { lineHeight, wrap } from "../gpu/texts";
import { defaultRange, sizeOf } from "../pixels";
import { captionOf, itemOf, type Plan, planOf } from "../plan";
import { messageOf } from "./cells";
import { type Gestures, listen } from "./gestures";
import { annotationAt, hitOf } from "./hits";
import { Painter, type PaintOptions } from "./painter";
import { hugeSize, mayBeHuge, partOf, Tiles } from "./tiles";

const owner = "single";
const maxScale = 64;
const panStep = 60;
/** The side, in pixels, that is requested of a picture too large to be sent whole. */
const pixelsOfLarge = 4096;
/** The same of a picture that is drawn in tiles: it lies under them. */
const pixelsUnderTiles = 1024;
/** Names stand at boxes from this width on, in CSS pixels at the fitting zoom. */
const namesFrom = 12;

export const openSingle: OpenSingle = (canvas, hovered, moved) =>
  new SingleView(canvas, hovered, moved);

class SingleView implements Single, Gestures {
  private readonly surface: Surface;
  private painter = new Painter();
  private readonly stopListening: () => void;
  private store: SampleStore | undefined;
  private stopStore: (() => void) | undefined;
  private appearance: Appearance = { primary: "", layers: {}, dark: false };
  private plan: Plan | undefined;
  private row = -1;
  private item = 0;
  private window: { low: number; high: number } | null = null;
  private size: { width: number; height: number } | undefined;
  private tiles: Tiles | undefined;
  private zoomed: Zoom = { scale: 1, x: 0, y: 0 };
  /** The picture stays whole in the window until the user zooms or pans. */
  private fitting = true;
  private staleScene = true;
  private stalePalettes = true;
  private wanted = "";
  private readonly view: Transform = { scale: 1, x: 0, y: 0 };
  private readonly style: Style = { stroke: 2, radius: 4, fill: 0.12 };

  constructor(canvas: HTMLCanvasElement, private readonly hovered: (hit: Hit | null) => void,
    private readonly moved?: (look: Look) => void) {
    this.surface = new Surface(canvas, { reset: () => this.resized(), frame: () => this.frame() });
    this.stopListening = listen(canvas, this);
    this.surface.start();
  }

  setStore(store: SampleStore): void {
    if (this.store === store) return;
    this.stopStore?.();
    this.store?.want([], owner);
    this.dropTiles();
    this.store = store;
    this.stopStore = store.subscribe(() => this.changed());
    this.row = -1;
    this.size = undefined;
    this.replan();
  }

  setAppearance(appearance: Appearance): void {
    this.appearance = appearance;
    this.replan();
  }

  show(row: number, item: number): void {
    if (row !== this.row) {
      this.fitting = true;
      this.size = undefined;
    }
    this.row = row;
    this.item = Math.max(0, item);
    this.changed();
  }

  fit(): void {
    this.fitting = true;
    this.fitWindow();
    this.look();
    this.surface.invalidate();
  }

  setLook({ fitting, ...zoom }: Look): void {
    this.fitting = fitting;
    this.zoomed = zoom;
    this.fitWindow();
    this.surface.invalidate();
  }

  /** All copies of the picture, side by side, and from the left of one to the next. */
  private spread(size: { width: number; height: number }): { width: number; height: number; step: number } {
    const panes = this.plan?.panes.length ?? 1;
    const step = Math.ceil(size.width * 1.02);
    return { width: size.width + (panes - 1) * step, height: size.height, step };
  }

  zoom(factor: number, x = this.surface.width / 2, y = this.surface.height / 2): void {
    if (!this.size || !(factor > 0)) return;
    const { width, height } = this.surface;
    const all = this.spread(this.size);
    const least = zoomToFit(all.width, all.height, width, height).scale;
    this.fitting = false;
    this.setZoom(zoomAt(this.zoomed, factor, x, y, Math.min(1, least / 2), Math.max(maxScale, least)));
  }

  setWindow(window: { low: number; high: number } | null): void {
    this.window = window;
    this.refill();
  }

  key(e: KeyboardEvent): boolean {
    if (e.ctrlKey || e.metaKey || e.altKey) return false;
    switch (e.key) {
      case "+": case "=": this.zoom(1.25); return true;
      case "-": case "_": this.zoom(0.8); return true;
      case "0": this.fit(); return true;
      case "1": this.zoom(1 / this.zoomed.scale); return true;
    }
    // Arrows alone step from row to row, which is the panels' affair.
    if (!e.shiftKey) return false;
    switch (e.key) {
      case "ArrowLeft": this.pan(panStep, 0); return true;
      case "ArrowRight": this.pan(-panStep, 0); return true;
      case "ArrowUp": this.pan(0, panStep); return true;
      case "ArrowDown": this.pan(0, -panStep); return true;
      default: return false;
    }
  }

  destroy(): void {
    this.stopListening();
    this.stopStore?.();
    this.dropTiles();
    this.store?.want([], owner);
    this.surface.destroy();
  }

  // Gestures.

  wheel(_dx: number, dy: number, x: number, y: number): void {
    this.zoom(Math.exp(-clamp(dy, -150, 150) * 0.0018), x, y);
  }

  press(): void {
    // A drag begins where it moves.
  }

  drag(_x: number, _y: number, dx: number, dy: number): void {
    this.pan(dx, dy);
  }

  release(): void {
    // The picture stays where it is let go.
  }

  tap(x: number, y: number, double: boolean): void {
    if (!double) return;
    if (this.fitting) this.zoom(Math.max(2, 1 / this.zoomed.scale), x, y);
    else this.fit();
  }

  hover(x: number, y: number): void {
    this.hovered(this.row < 0 ? null : this.hit(x, y));
  }

  leave(): void {
    this.hovered(null);
  }

  private hit(x: number, y: number): Hit {
    const { store, plan, size, row } = this;
    if (!store || !plan || !size) return { row };
    const at = toPicture(this.zoomed, x, y);
    const { step } = this.spread(size);
    const pane = clamp(Math.floor(at.x / step), 0, plan.panes.length - 1);
    at.x -= pane * step;
    if (!inside({ x: 0, y: 0, ...size }, at.x, at.y)) return { row };
    const found = annotationAt(this.painter.annotations(store, plan, row, this.item, size, pane), size,
      at.x, at.y, 8 / this.zoomed.scale, (one, place) =>
        one.hidden.has(place));
    return hitOf(row, at.x, at.y, found);
  }

  // State.

  private resized(): void {
    this.stalePalettes = true;
    this.fitWindow();
    this.look();
    this.refill();
  }

  private replan(): void {
    if (!this.store) return;
    const before = this.plan?.panes.length;
    this.plan = planOf(this.store.view, this.appearance);
    // A painter cuts shapes for one margin.
    if (before !== this.plan.panes.length) this.painter = new Painter();
    this.fitWindow();
    this.stalePalettes = true;
    this.wanted = "";
    this.changed();
  }

  private changed(): void {
    this.refill();
    this.want();
  }

  private refill(): void {
    this.staleScene = true;
    this.surface.invalidate();
  }

  private pan(dx: number, dy: number): void {
    this.fitting = false;
    const { scale, x, y } = this.zoomed;
    this.setZoom({ scale, x: x + dx, y: y + dy });
  }

  private setZoom(zoom: Zoom): void {
    const { width, height } = this.surface;
    const all = this.size && this.spread(this.size);
    this.zoomed = all ? keepInSight(zoom, all.width, all.height, width, height) : zoom;
    this.moved?.({ ...this.zoomed, fitting: false });
    this.look();
    this.surface.invalidate();
  }

  private fitWindow(): void {
    if (!this.size || !this.fitting) return;
    const { width, height } = this.surface;
    const all = this.spread(this.size);
    this.zoomed = zoomToFit(all.width, all.height, width, height);
  }

  private primary(): Sample | undefined {
    const { store, plan } = this;
    if (!store || !plan?.primary || this.row < 0) return undefined;
    return itemOf(store.peek(this.row, plan.primary.name), plan.primary, this.item);
  }

  /** Draws a huge picture in tiles; any other one has none. */
  private settleTiles(sample: Sample | undefined): void {
    const { store, plan, row } = this;
    const primary = plan?.primary;
    const size = primary?.draw === "image" ? hugeSize(sample) : undefined;
    if (!store || !primary || !size) {
      this.dropTiles();
      return;
    }
    const item = primary.sequence ? this.item : undefined;
    if (this.tiles?.isOf(row, primary.name, item, size)) return;
    this.dropTiles();
    this.tiles = new Tiles(store, { row, column: primary.name, ...(item === undefined ? {} : { item }) },
      size, () => this.refill());
    // Without a size there is no zoom yet.
    if (this.size) this.look();
  }

  private dropTiles(): void {
    this.tiles?.close();
    this.tiles = undefined;
  }

  /** Reads the tiles in sight. */
  private look(): void {
    const { surface, tiles, zoomed } = this;
    if (tiles?.look(partOf(zoomed, surface.width, surface.height), zoomed.scale * surface.ratio)) {
      this.refill();
    }
  }

  /** Requests the sample, and its neighbours once it has come. */
  private want(): void {
    const { store, plan, row, item } = this;
    if (!store || !plan) return;
    const sample = this.primary();
    this.settleTiles(sample);
    const large = sample?.kind === "large";
    // Of a video, the whole sample would be the file.
    const guess = plan.primary?.draw === "video" || plan.primary?.draw === "image" && mayBeHuge(plan.primary.max_shape);
    // Of a picture that may be huge, a small one comes first, with the size.
    const small = sample ? this.tiles !== undefined || plan.primary?.draw === "video" : guess;
    const key = `${row} ${item} ${large} ${small} ${sample !== undefined}`;
    if (key === this.wanted) return;
    this.wanted = key;
    if (row < 0 || row >= store.view.rows) {
      store.want([], owner);
      return;
    }
    const pixelsOf = (name: string, less: boolean): number =>
      !less ? 0 : small && name === plan.primary?.name ? pixelsUnderTiles : pixelsOfLarge;
    const columns = (from: number, to: number, less = large || small): Want["columns"] =>
      plan.columns.map(({ name, sized }) => ({
        name, pixels: sized ? pixelsOf(name, less) : 0, items: [from, to] as [number, number],
      }));
    const wants: Want[] = [{ rows: [row], columns: columns(item, item + 1) }];
    if (sample && !large && !guess) {
      if (plan.primary?.sequence) wants.push({ rows: [row], columns: columns(item + 1, item + 4) });
      const beside = [row + 1, row - 1].filter((other) => other >= 0 && other < store.view.rows);
      wants.push({ rows: beside, columns: columns(0, 1) });
    }
    store.want(wants, owner);
  }

  // Frames.

  private frame(): void {
    const { surface, view } = this;
    const { scene, ratio } = surface;
    if (!scene) return;
    if (this.stalePalettes) {
      scene.palettes.set(this.appearance.dark, this.plan?.palettes ?? []);
      this.stalePalettes = false;
    }
    if (this.staleScene) this.build();
    // Without a picture the world is the window.
    view.scale = (this.size ? this.zoomed.scale : 1) * ratio;
    view.x = Math.round((this.size ? this.zoomed.x : 0) * ratio);
    view.y = Math.round((this.size ? this.zoomed.y : 0) * ratio);
    this.style.stroke = Math.max(1, Math.round(2 * ratio));
    this.style.radius = 4 * ratio;
    scene.draw(surface.canvas.width, surface.canvas.height, view, this.style,
      groundOf(this.appearance.dark));
    if (scene.coarse) surface.invalidateLater(restTime);
    if (scene.pending) this.refill();
  }

  private build(): void {
    const { scene } = this.surface;
    const { store, plan } = this;
    if (!scene) return;
    this.staleScene = false;
    scene.beginFrame();
    scene.begin();
    this.painter.begin();
    const sample = this.primary();
    const size = sample && (this.tiles?.size ?? sizeOf(sample));
    if (sample || this.row < 0) this.setSize(size);
    if (sample && size && store && plan) this.addPicture(sample, size, store, plan);
    else if (!this.size) this.addMessage(sample);
    scene.end();
  }

  private setSize(size: { width: number; height: number } | undefined): void {
    const same = size?.width === this.size?.width && size?.height === this.size?.height;
    this.size = size;
    if (same) return;
    this.fitWindow();
    this.look();
  }

  private addPicture(sample: Sample, size: { width: number; height: number }, store: SampleStore,
    plan: Plan): void {
    const { scene } = this.surface;
    if (!scene) return;
    const all = this.spread(size);
    const scale = zoomToFit(all.width, all.height, this.surface.width, this.surface.height).scale;
    plan.panes.forEach((_, pane) => {
      const place = { x: pane * all.step, y: 0, ...size };
      if (plan.primaryIsOverlay || !scene.addWholePicture(sample, place, this.window)) {
        scene.addGround(place, code(0, ui.cell));
      }
      if (this.tiles) this.addTiles(this.tiles, place.x);
      const options: PaintOptions = {
        maskSide: 0, namesFrom: namesFrom / scale, nameWidth: 240,
        // Shapes outside of the picture would lie on its neighbour.
        margin: plan.panes.length > 1 ? 0 : 2,
      };
      this.painter.paint(scene, this.painter.annotations(store, plan, this.row, this.item, size, pane),
        size, place, options);
    });
  }

  /** Adds the tiles of a picture that begins at `left`. */
  private addTiles(tiles: Tiles, left: number): void {
    // Each tile has its own range of numbers; all are drawn in that of the whole.
    const { base } = tiles;
    const range = this.window ?? (base?.kind === "array" ? defaultRange(base) : null);
    for (const { sample, place } of tiles.shown()) {
      this.surface.scene?.addWholePicture(sample, { ...place, x: left + place.x }, range);
    }
  }

  /** Shows in the middle of the window why there is no picture. */
  private addMessage(sample: Sample | undefined): void {
    const { scene, width, height } = this.surface;
    const primary = this.plan?.primary;
    if (!scene || !primary || this.row < 0) return;
    const long = sample?.kind === "text" || sample?.kind === "json" ? sample.text
      : sample ? messageOf(sample) || captionOf(primary, sample) : "…";
    const room = Math.max(40, Math.min(width - 32, 720));
    const lines = wrap(long, room, Math.max(1, Math.floor(height / lineHeight) - 2),
      (text) => scene.texts.measure(text));
    const top = Math.max(0, (height - lines.length * lineHeight) / 2);
    lines.forEach((line, i) => {
      const left = (width - Math.min(room, scene.texts.measure(plain(line)))) / 2;
      scene.addText(line, left, top + i * lineHeight, 0, 0, room,
        code(0, sample?.kind === "error" ? ui.error : ui.text));
    });
  }
}
