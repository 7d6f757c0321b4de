// Cuts polygons to rectangles and into triangles, for their fill.

/** Polygons with more points are thinned for their fill; the outline keeps all of them. */
export const maxFillPoints = 1000;

/** The part of a polygon within a rectangle: Sutherland and Hodgman. `xy` holds x, y in turn. */
export function clipPolygon(xy: ArrayLike<number>, left: number, top: number, right: number,
  bottom: number): ArrayLike<number> {
  let points = xy;
  for (let side = 0; side < 4; side++) {
    const axis = side >> 1;
    const limit = side === 0 ? left : side === 1 ? right : side === 2 ? top : bottom;
    const sign = side & 1 ? -1 : 1;
    points = clipSide(points, axis, limit, sign);
  }
  return points;
}

function clipSide(xy: ArrayLike<number>, axis: number, limit: number,
  sign: number): ArrayLike<number> {
  const out: number[] = [];
  const count = xy.length / 2;
  for (let i = 0; i < count; i++) {
    const j = i === 0 ? count - 1 : i - 1;
    const before = sign * (xy[2 * j + axis] - limit);
    const here = sign * (xy[2 * i + axis] - limit);
    if ((before < 0) !== (here < 0)) {
      const t = before / (before - here);
      out.push(xy[2 * j] + t * (xy[2 * i] - xy[2 * j]),
        xy[2 * j + 1] + t * (xy[2 * i + 1] - xy[2 * j + 1]));
    }
    if (here >= 0) out.push(xy[2 * i], xy[2 * i + 1]);
  }
  return out;
}

/** Keeps every nth point so that at most `most` are left. */
export function thin(xy: ArrayLike<number>, most: number): ArrayLike<number> {
  const count = xy.length / 2;
  if (count <= most) return xy;
  const out = new Float64Array(2 * most);
  for (let i = 0; i < most; i++) {
    const from = Math.floor(i * count / most);
    out[2 * i] = xy[2 * from];
    out[2 * i + 1] = xy[2 * from + 1];
  }
  return out;
}

/**
 * Cuts a simple polygon into triangles, as indices of points, by cutting off ears. A polygon that
 * crosses itself gets triangles too, which may leave parts of it out.
 */
export function triangulate(xy: ArrayLike<number>): number[] {
  const count = Math.floor(xy.length / 2);
  if (count < 3) return [];
  const area = signedArea(xy, count);
  if (area === 0 || !Number.isFinite(area)) return [];
  const next = new Int32Array(count);
  const previous = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    // The list runs so that the inside lies on the same side for all polygons.
    const after = (i + 1) % count;
    const before = (i + count - 1) % count;
    next[i] = area > 0 ? after : before;
    previous[i] = area > 0 ? before : after;
  }
  return cutEars(xy, next, previous, count);
}

function cutEars(xy: ArrayLike<number>, next: Int32Array, previous: Int32Array,
  count: number): number[] {
  const triangles: number[] = [];
  let left = count;
  let at = 0;
  let misses = 0;
  while (left > 3) {
    const before = previous[at];
    const after = next[at];
    const turn = cross(xy, before, at, after);
    // After a whole round without an ear the polygon crosses itself: any corner is cut then.
    if (turn === 0 || misses > left || (turn > 0 && isEar(xy, next, before, at, after))) {
      if (turn !== 0) triangles.push(before, at, after);
      next[before] = after;
      previous[after] = before;
      left--;
      misses = 0;
      // Skipping a corner gives rounder triangles than a fan.
      at = next[after];
    } else {
      misses++;
      at = after;
    }
  }
  triangles.push(previous[at], at, next[at]);
  return triangles;
}

function isEar(xy: ArrayLike<number>, next: Int32Array, a: number, b: number, c: number): boolean {
  for (let p = next[c]; p !== a; p = next[p]) {
    if (samePoint(xy, p, a) || samePoint(xy, p, b) || samePoint(xy, p, c)) continue;
    if (cross(xy, a, b, p) >= 0 && cross(xy, b, c, p) >= 0 && cross(xy, c, a, p) >= 0) return false;
  }
  return true;
}

function samePoint(xy: ArrayLike<number>, a: number, b: number): boolean {
  return xy[2 * a] === xy[2 * b] && xy[2 * a + 1] === xy[2 * b + 1];
}

function cross(xy: ArrayLike<number>, a: number, b: number, c: number): number {
  return (xy[2 * b] - xy[2 * a]) * (xy[2 * c + 1] - xy[2 * a + 1])
    - (xy[2 * b + 1] - xy[2 * a + 1]) * (xy[2 * c] - xy[2 * a]);
}

export function signedArea(xy: ArrayLike<number>, count = Math.floor(xy.length / 2)): number {
  let twice = 0;
  for (let i = 0, j = count - 1; i < count; j = i++) {
    twice += xy[2 * j] * xy[2 * i + 1] - xy[2 * i] * xy[2 * j + 1];
  }
  return twice / 2;
}

/** Reports whether a point lies in a polygon, by the even-odd rule. */
export function polygonHas(xy: ArrayLike<number>, x: number, y: number): boolean {
  let within = false;
  const count = Math.floor(xy.length / 2);
  for (let i = 0, j = count - 1; i < count; j = i++) {
    const yi = xy[2 * i + 1];
    const yj = xy[2 * j + 1];
    if (yi > y !== yj > y
      && x < (xy[2 * j] - xy[2 * i]) * (y - yi) / (yj - yi) + xy[2 * i]) within = !within;
  }
  return within;
}
