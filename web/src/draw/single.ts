// One sample with pan and zoom.

import type { Appearance, Hit, OpenSingle, Sample, SampleStore, Single, Want } from "./api";
import { messageOf } from "./cells";
import {
  clamp, inside, keepInSight, toPicture, type Zoom, zoomAt, zoomToFit,
} from "./geometry";
import { type Gestures, listen } from "./gestures";
import { annotationAt, hitOf } from "./hits";
import { groundOf, ui } from "./palettes";
import { Painter, type PaintOptions } from "./painter";
import { captionOf, itemOf, type Plan, planOf } from "./plan";
import { sizeOf } from "./pixels";
import { code, type Style, type View } from "./scene";
import { Surface } from "./surface";
import { lineHeight, plain, wrap } from "./texts";

const owner = "single";
const maxScale = 64;
const panStep = 60;
/** A picture too large to be sent whole is asked for in this size. */
const pixelsOfLarge = 4096;
/** Names stand at boxes from this width on, in CSS pixels at the fitting zoom. */
const namesFrom = 12;

export const openSingle: OpenSingle = (canvas, hovered) => new SingleView(canvas, hovered);

class SingleView implements Single, Gestures {
  private readonly surface: Surface;
  private readonly painter = new Painter();
  private readonly stopListening: () => void;
  private store: SampleStore | undefined;
  private stopStore: (() => void) | undefined;
  private appearance: Appearance = { primary: "", layers: {}, dark: false };
  private plan: Plan | undefined;
  private row = -1;
  private item = 0;
  private window: { low: number; high: number } | null = null;
  private size: { width: number; height: number } | undefined;
  private zoomed: Zoom = { scale: 1, x: 0, y: 0 };
  /** The picture stays whole in the window until someone zooms or pans. */
  private fitting = true;
  private staleScene = true;
  private stalePalettes = true;
  private wanted = "";
  private readonly view: View = { scale: 1, x: 0, y: 0 };
  private readonly style: Style = { stroke: 2, radius: 4, fill: 0.12 };

  constructor(canvas: HTMLCanvasElement, private readonly hovered: (hit: Hit | null) => void) {
    this.surface = new Surface(canvas, { reset: () => this.resized(), frame: () => this.frame() });
    this.stopListening = listen(canvas, this);
    this.surface.start();
  }

  setStore(store: SampleStore): void {
    if (this.store === store) return;
    this.stopStore?.();
    this.store?.want([], owner);
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
      this.window = null;
    }
    this.row = row;
    this.item = Math.max(0, item);
    this.changed();
  }

  fit(): void {
    this.fitting = true;
    this.fitWindow();
    this.surface.invalidate();
  }

  zoom(factor: number, x = this.surface.width / 2, y = this.surface.height / 2): void {
    if (!this.size || !(factor > 0)) return;
    const { width, height } = this.surface;
    const least = zoomToFit(this.size.width, this.size.height, width, height).scale;
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
    if (!inside({ x: 0, y: 0, ...size }, at.x, at.y)) return { row };
    const found = annotationAt(this.painter.annotations(store, plan, row, this.item, size), size,
      at.x, at.y, 8 / this.zoomed.scale, (one, place) =>
        plan.palettes[one.overlay.palette - 1].hidden.has(place));
    return hitOf(row, at.x, at.y, found);
  }

  // State.

  private resized(): void {
    this.stalePalettes = true;
    this.fitWindow();
    this.refill();
  }

  private replan(): void {
    if (!this.store) return;
    this.plan = planOf(this.store.view, this.appearance);
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
    this.zoomed = this.size
      ? keepInSight(zoom, this.size.width, this.size.height, width, height) : zoom;
    this.surface.invalidate();
  }

  private fitWindow(): void {
    if (!this.size || !this.fitting) return;
    const { width, height } = this.surface;
    this.zoomed = zoomToFit(this.size.width, this.size.height, width, height);
  }

  private primary(): Sample | undefined {
    const { store, plan } = this;
    if (!store || !plan?.primary || this.row < 0) return undefined;
    return itemOf(store.peek(this.row, plan.primary.name), plan.primary, this.item);
  }

  /** Asks for the sample, and for its neighbours once it has come. */
  private want(): void {
    const { store, plan, row, item } = this;
    if (!store || !plan) return;
    const sample = this.primary();
    const large = sample?.kind === "large";
    const key = `${row} ${item} ${large} ${sample !== undefined}`;
    if (key === this.wanted) return;
    this.wanted = key;
    if (row < 0 || row >= store.view.rows) {
      store.want([], owner);
      return;
    }
    const columns = (from: number, to: number): Want["columns"] => plan.columns.map(
      ({ name, sized }) => ({
        name, pixels: large && sized ? pixelsOfLarge : 0, items: [from, to] as [number, number],
      }));
    const wants: Want[] = [{ rows: [row], columns: columns(item, item + 1) }];
    if (sample && !large) {
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
    if (scene.pending) this.refill();
  }

  private build(): void {
    const { scene } = this.surface;
    const { store, plan } = this;
    if (!scene) return;
    this.staleScene = false;
    scene.begin();
    this.painter.begin();
    const sample = this.primary();
    const size = sample && sizeOf(sample);
    if (sample || this.row < 0) this.setSize(size);
    if (sample && size && store && plan) this.addPicture(sample, size, store, plan);
    else if (!this.size) this.addMessage(sample);
    scene.end();
  }

  private setSize(size: { width: number; height: number } | undefined): void {
    const same = size?.width === this.size?.width && size?.height === this.size?.height;
    this.size = size;
    if (!same) this.fitWindow();
  }

  private addPicture(sample: Sample, size: { width: number; height: number }, store: SampleStore,
    plan: Plan): void {
    const { scene } = this.surface;
    if (!scene) return;
    const place = { x: 0, y: 0, ...size };
    if (plan.primaryIsOverlay || !scene.addWholePicture(sample, place, this.window)) {
      scene.addGround(place, code(0, ui.cell));
    }
    const scale = zoomToFit(size.width, size.height, this.surface.width, this.surface.height).scale;
    const options: PaintOptions = {
      maskSide: 0, namesFrom: namesFrom / scale, nameWidth: 240, margin: 2,
    };
    this.painter.paint(scene, this.painter.annotations(store, plan, this.row, this.item, size),
      size, place, options);
  }

  /** Says in the middle of the window why there is no picture. */
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
