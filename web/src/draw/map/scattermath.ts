// The arithmetic of a map of points: which points a lasso holds, and which one is near.

export interface Points {
  x: Float32Array;
  y: Float32Array;
}

/** Pixels of a point: x * scale + dx, and dy - y * scale, since y grows upwards. */
export interface Camera {
  scale: number;
  dx: number;
  dy: number;
}

const margin = 0.05;

/** The camera that shows all points. */
export function fit({ x, y }: Points, width: number, height: number): Camera {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    if (x[i] < left) left = x[i];
    if (x[i] > right) right = x[i];
    if (y[i] < bottom) bottom = y[i];
    if (y[i] > top) top = y[i];
  }
  if (!(left <= right)) return { scale: 1, dx: width / 2, dy: height / 2 };
  const room = 1 - 2 * margin;
  const scale = Math.min(room * width / Math.max(right - left, 1e-30), room * height / Math.max(top - bottom, 1e-30), 1e20);
  return { scale, dx: width / 2 - scale * (left + right) / 2, dy: height / 2 + scale * (bottom + top) / 2 };
}

/** Returns a camera that is closer by a factor, around a place in pixels. */
export function zoomed({ scale, dx, dy }: Camera, factor: number, x: number, y: number): Camera {
  const to = Math.min(1e25, Math.max(1e-25, scale * factor));
  const by = to / scale;
  return { scale: to, dx: x + (dx - x) * by, dy: y + (dy - y) * by };
}

/** Reports whether a point lies in a polygon of x and y in turn, by the even-odd rule. */
export function inPolygon(x: number, y: number, polygon: ArrayLike<number>): boolean {
  let inside = false;
  const count = Math.floor(polygon.length / 2);
  for (let i = 0, j = count - 1; i < count; j = i++) {
    const [x0, y0, x1, y1] = [polygon[2 * i], polygon[2 * i + 1], polygon[2 * j], polygon[2 * j + 1]];
    if ((y0 > y) !== (y1 > y) && x < (x1 - x0) * (y - y0) / (y1 - y0) + x0) inside = !inside;
  }
  return inside;
}

/** Returns the points within a polygon in pixels. */
export function within({ x, y }: Points, camera: Camera, polygon: ArrayLike<number>): number[] {
  const found: number[] = [];
  for (let i = 0; i < x.length; i++) {
    if (inPolygon(x[i] * camera.scale + camera.dx, camera.dy - y[i] * camera.scale, polygon)) found.push(i);
  }
  return found;
}

/** Returns the point nearest to a place in pixels, at most so many away; -1: none. */
export function nearest({ x, y }: Points, { scale, dx, dy }: Camera, px: number, py: number, most: number): number {
  let [best, found] = [most * most, -1];
  for (let i = 0; i < x.length; i++) {
    const far = (x[i] * scale + dx - px) ** 2 + (dy - y[i] * scale - py) ** 2;
    if (far <= best) {
      best = far;
      found = i;
    }
  }
  return found;
}

/** Returns the points nearest to one of them, itself first. */
export function neighbours({ x, y }: Points, at: number, count: number): number[] {
  const far = Float64Array.from(x, (_, i) => (x[i] - x[at]) ** 2 + (y[i] - y[at]) ** 2);
  return Array.from(far.keys()).sort((a, b) => far[a] - far[b] || Number(b === at) - Number(a === at) || a - b).slice(0, count);
}
