// The annotations of a frame of a video: a canvas through which the player shows.

import type { SampleStore } from "../../data/samples";
import type { Appearance, FilmLayer, Hit, OpenFilm, Size } from "../api";
import { fit, inside, type Rect } from "../geometry";
import type { Style } from "../gpu/scene";
import { Surface } from "../gpu/surface";
import { type Plan, planOf, planOfFrames } from "../plan";
import { annotationAt, hitOf } from "./hits";
import { Painter, type PaintOptions } from "./painter";

const clear = [0, 0, 0, 0];
/** Names stand at boxes from this width on, in CSS pixels. */
const namesFrom = 12;
const nameWidth = 240;
/** CSS pixels from a point to the pointer that hits it. */
const reach = 8;

export const openFilm: OpenFilm = (canvas) => new Film(canvas);

class Film implements FilmLayer {
  private readonly surface: Surface;
  private readonly painter = new Painter();
  private store: SampleStore | undefined;
  private appearance: Appearance | undefined;
  private sequences: ReadonlySet<string> = new Set();
  /** Of the overlays that are drawn; undefined: to be made. */
  private plan: Plan | undefined;
  private row = -1;
  private item = -1;
  private size: Size = { width: 0, height: 0 };
  private picture: Size = { width: 0, height: 0 };
  private stalePalettes = true;
  private readonly style: Style = { stroke: 2, radius: 4, fill: 0.12 };

  constructor(canvas: HTMLCanvasElement) {
    this.surface = new Surface(canvas, { reset: () => this.reset(), frame: () => this.frame() }, true);
    this.surface.start();
  }

  setStore(store: SampleStore): void {
    this.store = store;
    this.replan();
  }

  setAppearance(appearance: Appearance): void {
    this.appearance = appearance;
    this.replan();
  }

  setSizes(frame: Size, picture: Size): void {
    this.size = frame;
    this.picture = picture;
    this.surface.invalidate();
  }

  show(row: number, item: number, sequences: ReadonlySet<string>): void {
    if (sequences !== this.sequences) this.plan = undefined;
    Object.assign(this, { row, item, sequences });
    this.surface.invalidate();
  }

  at(x: number, y: number): Hit | null {
    const { store, size, row, item } = this;
    const plan = this.planned();
    const place = this.place();
    if (!place || !inside(place, x, y)) return null;
    const scale = place.width / size.width;
    const left = (x - place.x) / scale;
    const top = (y - place.y) * size.height / place.height;
    if (!store || !plan || item < 0) return { row, x: left, y: top };
    const found = annotationAt(this.painter.annotations(store, plan, row, item, size), size, left, top,
      reach / scale, (one, place) => one.hidden.has(place));
    return hitOf(row, left, top, found);
  }

  destroy(): void {
    this.surface.destroy();
  }

  private reset(): void {
    this.stalePalettes = true;
  }

  private replan(): void {
    this.plan = undefined;
    this.stalePalettes = true;
    this.surface.invalidate();
  }

  private planned(): Plan | undefined {
    const { store, appearance, sequences } = this;
    if (!this.plan && store && appearance) this.plan = planOfFrames(planOf(store.view, appearance), sequences);
    return this.plan;
  }

  /** Returns where the player shows the picture; undefined: it shows none. */
  private place(): Rect | undefined {
    const { surface: { width, height }, picture, size } = this;
    if (!(picture.width > 0 && picture.height > 0 && size.width > 0 && size.height > 0)) return undefined;
    return fit(picture.width, picture.height, { x: 0, y: 0, width, height });
  }

  private frame(): void {
    const { surface: { scene, ratio, canvas }, store, appearance, style, row, item, size } = this;
    if (!scene) return;
    const plan = this.planned();
    if (this.stalePalettes && appearance) {
      scene.palettes.set(appearance.dark, plan?.palettes ?? []);
      this.stalePalettes = false;
    }
    scene.beginFrame();
    scene.begin();
    this.painter.begin();
    const place = this.place();
    if (store && plan && place && item >= 0) {
      const options: PaintOptions = { maskSide: 0, namesFrom, nameWidth, namesWithin: place, margin: 0 };
      this.painter.paint(scene, this.painter.annotations(store, plan, row, item, size), size, place, options);
    }
    scene.end();
    style.stroke = Math.max(1, Math.round(2 * ratio));
    style.radius = 4 * ratio;
    scene.draw(canvas.width, canvas.height, { scale: ratio, x: 0, y: 0 }, style, clear);
    if (scene.pending) this.surface.invalidate();
  }
}
