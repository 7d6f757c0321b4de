// Turns the events of mouse, pen, fingers and wheel into gestures. Lengths are CSS pixels.

export interface Gestures {
  wheel(dx: number, dy: number, x: number, y: number): void;
  /** Ctrl and wheel, or two fingers: closer with a factor above 1. */
  zoom(factor: number, x: number, y: number): void;
  /** A button or finger went down. */
  press(x: number, y: number): void;
  drag(x: number, y: number, dx: number, dy: number, touch: boolean): void;
  /** The last finger or button went up; pixels each millisecond. */
  release(vx: number, vy: number, touch: boolean): void;
  tap(x: number, y: number, double: boolean): void;
  hover(x: number, y: number): void;
  leave(): void;
}

const tapDistance = 6;
const doubleTime = 400;
const lineOfWheel = 32;

interface Pointer {
  x: number;
  y: number;
  time: number;
  vx: number;
  vy: number;
}

/** Listens on a canvas; the returned function ends that. */
export function listen(canvas: HTMLCanvasElement, to: Gestures): () => void {
  const pointers = new Map<number, Pointer>();
  let moved = 0;
  let lastTap = { x: 0, y: 0, time: -Infinity };

  const at = (e: MouseEvent): { x: number; y: number } => {
    const { left, top } = canvas.getBoundingClientRect();
    return { x: e.clientX - left, y: e.clientY - top };
  };
  const spread = (): { distance: number; x: number; y: number } => {
    const [a, b] = [...pointers.values()];
    return { distance: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  };

  const down = (e: PointerEvent): void => {
    if (e.pointerType === "mouse" && e.button !== 0) return;
    const { x, y } = at(e);
    pointers.set(e.pointerId, { x, y, time: e.timeStamp, vx: 0, vy: 0 });
    canvas.setPointerCapture(e.pointerId);
    if (pointers.size === 1) {
      moved = 0;
      to.press(x, y);
    } else {
      moved = Infinity;
    }
  };

  const move = (e: PointerEvent): void => {
    const { x, y } = at(e);
    const pointer = pointers.get(e.pointerId);
    if (!pointer) {
      if (e.pointerType !== "touch") to.hover(x, y);
      return;
    }
    const before = pointers.size === 2 ? spread() : undefined;
    const dx = x - pointer.x;
    const dy = y - pointer.y;
    const passed = Math.max(1, e.timeStamp - pointer.time);
    Object.assign(pointer, { x, y, time: e.timeStamp, vx: dx / passed, vy: dy / passed });
    moved += Math.hypot(dx, dy);
    if (before) {
      const now = spread();
      if (before.distance > 0) to.zoom(now.distance / before.distance, now.x, now.y);
      to.drag(now.x, now.y, now.x - before.x, now.y - before.y, true);
    } else if (pointers.size === 1 && moved > tapDistance) {
      to.drag(x, y, dx, dy, e.pointerType === "touch");
    }
  };

  const up = (e: PointerEvent): void => {
    const pointer = pointers.get(e.pointerId);
    if (!pointer) return;
    pointers.delete(e.pointerId);
    if (pointers.size > 0) return;
    const { x, y } = at(e);
    // A finger that rested before it went up throws nothing.
    const thrown = e.timeStamp - pointer.time < 60 && moved > tapDistance ? 1 : 0;
    to.release(thrown * pointer.vx, thrown * pointer.vy, e.pointerType === "touch");
    if (e.type === "pointercancel" || moved > tapDistance) return;
    const double = e.timeStamp - lastTap.time < doubleTime
      && Math.hypot(x - lastTap.x, y - lastTap.y) < 4 * tapDistance;
    lastTap = { x, y, time: double ? -Infinity : e.timeStamp };
    to.tap(x, y, double);
  };

  const wheel = (e: WheelEvent): void => {
    e.preventDefault();
    const unit = e.deltaMode === 1 ? lineOfWheel : e.deltaMode === 2 ? canvas.clientHeight : 1;
    const { x, y } = at(e);
    if (e.ctrlKey || e.metaKey) to.zoom(wheelFactor(e.deltaY * unit), x, y);
    else to.wheel(e.deltaX * unit, e.deltaY * unit, x, y);
  };
  const leave = (): void => {
    if (pointers.size === 0) to.leave();
  };

  const touchAction = canvas.style.touchAction;
  canvas.style.touchAction = "none";
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("wheel", wheel, { passive: false });
  return () => {
    canvas.style.touchAction = touchAction;
    canvas.removeEventListener("pointerdown", down);
    canvas.removeEventListener("pointermove", move);
    canvas.removeEventListener("pointerup", up);
    canvas.removeEventListener("pointercancel", up);
    canvas.removeEventListener("pointerleave", leave);
    canvas.removeEventListener("wheel", wheel);
  };
}

/**
 * Returns the zoom factor of a wheel: a touchpad sends small steps, a notch of a wheel one of 100.
 */
export function wheelFactor(delta: number): number {
  return Math.exp(-Math.max(-25, Math.min(25, delta)) * 0.01);
}
