// A canvas with WebGL: its size, its frames on demand, and its lost contexts.

import { openContext } from "./gl";
import { Scene } from "./scene";

export interface Painting {
  /** The canvas has a new size or a new scene, and is empty. */
  reset(): void;
  frame(time: number): void;
}

const keptTimes = 600;

/** The time between frames. Time in which nothing had to be drawn does not count. */
export class FrameTimes {
  drawn = 0;
  private readonly ring = new Float64Array(keptTimes);
  private last = -Infinity;
  private asked = 0;

  /** A frame is scheduled. */
  ask(time: number): void {
    this.asked = time;
  }

  /** A frame is drawn. */
  draw(time: number): void {
    const since = Math.max(this.last, this.asked);
    this.ring[this.drawn % keptTimes] = Math.max(0, time - since);
    this.drawn++;
    this.last = time;
  }

  times(): number[] {
    const count = Math.min(this.drawn, keptTimes);
    const from = this.drawn - count;
    return Array.from({ length: count }, (_, i) => this.ring[(from + i) % keptTimes]);
  }
}

export class Surface {
  readonly frames = new FrameTimes();
  /** Undefined while the context is lost. */
  scene: Scene | undefined;
  /** Size in CSS pixels, and device pixels for each of them. */
  width = 0;
  height = 0;
  ratio = 1;

  private readonly gl: WebGL2RenderingContext;
  private readonly observer: ResizeObserver;
  private handle = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly run = (time: number): void => this.draw(time);

  /** `alpha`: the page shows through the canvas. */
  constructor(readonly canvas: HTMLCanvasElement, private readonly painting: Painting, alpha = false) {
    this.gl = openContext(canvas, alpha);
    this.observer = new ResizeObserver(() => this.measure());
    canvas.addEventListener("webglcontextlost", this.lost);
    canvas.addEventListener("webglcontextrestored", this.restored);
    window.addEventListener("resize", this.measure);
  }

  /** Starts drawing. */
  start(): void {
    this.observer.observe(this.canvas);
    this.measure();
  }

  /** Schedules a frame. */
  invalidate(): void {
    if (this.handle !== 0 || !this.scene) return;
    this.frames.ask(performance.now());
    this.handle = requestAnimationFrame(this.run);
  }

  /** Schedules a frame after a rest without other frames. */
  invalidateLater(milliseconds: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.invalidate(), milliseconds);
  }

  destroy(): void {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.handle);
    this.observer.disconnect();
    this.canvas.removeEventListener("webglcontextlost", this.lost);
    this.canvas.removeEventListener("webglcontextrestored", this.restored);
    window.removeEventListener("resize", this.measure);
    this.scene?.delete();
    this.scene = undefined;
  }

  private draw(time: number): void {
    this.handle = 0;
    if (!this.scene || this.width === 0 || this.height === 0) return;
    this.frames.draw(time);
    this.painting.frame(time);
  }

  private readonly measure = (): void => {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const same = width === this.width && height === this.height && ratio === this.ratio;
    if (same && this.scene) return;
    // Texts are drawn for one ratio.
    if (ratio !== this.ratio) this.dropScene();
    Object.assign(this, { width, height, ratio });
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    this.makeScene();
  };

  private makeScene(): void {
    if (this.gl.isContextLost()) return;
    this.scene ??= new Scene(this.gl, this.ratio);
    this.painting.reset();
    this.invalidate();
  }

  private dropScene(): void {
    this.scene?.delete();
    this.scene = undefined;
  }

  private readonly lost = (e: Event): void => {
    // Without this the context would not come back.
    e.preventDefault();
    cancelAnimationFrame(this.handle);
    this.handle = 0;
    this.scene = undefined;
  };

  private readonly restored = (): void => this.makeScene();
}
