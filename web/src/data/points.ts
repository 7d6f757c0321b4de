// Reads the responses of api/project and api/values. See PROTOCOL.md.

export interface Projection {
  points: number;
  /** Rows without a vector, or with one that is not finite. */
  skipped: number;
  /** Every step-th row was taken. */
  step: number;
  dim: number;
  /** The part of the variance that each axis explains. */
  variance: number[];
  x: Float32Array;
  y: Float32Array;
  rows: Uint32Array;
}

const magic = 0x31504c44;
const maxPoints = 1_000_000;

/** Reads a projection of a view of so many rows; throws an Error for bytes that are none. */
export function parseProjection(bytes: ArrayBuffer, viewRows: number): Projection {
  const data = new DataView(bytes);
  if (bytes.byteLength < 8 || data.getUint32(0, true) !== magic) throw new Error("no projection");
  const size = data.getUint32(4, true);
  if (8 + size > bytes.byteLength) throw new Error("the head is cut off");
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size))) as Partial<Projection>;
  const whole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  const { points, skipped, step, dim } = head;
  if (!whole(points) || !whole(skipped) || !whole(step) || !whole(dim) || step < 1) throw new Error("the head makes no sense");
  if (points > maxPoints || bytes.byteLength !== 8 + size + 12 * points) throw new Error("the points are cut off");
  const variance = (Array.isArray(head.variance) ? head.variance : []).map((part) => Number(part) || 0);
  const x = new Float32Array(points);
  const y = new Float32Array(points);
  const rows = new Uint32Array(points);
  for (let i = 0, at = 8 + size; i < points; i++, at += 12) {
    x[i] = data.getFloat32(at, true);
    y[i] = data.getFloat32(at + 4, true);
    rows[i] = data.getUint32(at + 8, true);
    if (!Number.isFinite(x[i]) || !Number.isFinite(y[i]) || rows[i] >= viewRows) throw new Error(`point ${i} makes no sense`);
  }
  return { points, skipped, step, dim, variance, x, y, rows };
}

/** Reads one number for every step-th row; NaN: the row has none. */
export function parseValues(bytes: ArrayBuffer, viewRows: number, step: number): Float32Array {
  const count = Math.ceil(viewRows / step);
  if (bytes.byteLength !== 4 * count) throw new Error("the values are cut off");
  const data = new DataView(bytes);
  return Float32Array.from({ length: count }, (_, i) => data.getFloat32(4 * i, true));
}
