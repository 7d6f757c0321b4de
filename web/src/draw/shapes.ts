// Turns samples of annotations into shapes in pixels of the picture. Everything here is untrusted.

import type { Tensor } from "../data/protocol";
import type { Sample } from "../data/samples";
import { classOf, noClass } from "./colors";

/** Shapes of one sample; coordinates are finite. */
export interface Shapes {
  /** Left, top, right, bottom of each box; left <= right and top <= bottom. */
  boxes: Float64Array;
  /** The instance of each box: its place in the sample, since broken boxes are left out. */
  boxOf: Uint32Array;
  polygons: Polygon[];
  points: Point[];
  edges: Edge[];
  /** Shapes that the sample has, with those that cannot be drawn. */
  instances: number;
  /** The fault of the sample; "": it has none. */
  problem: string;
}

export interface Polygon {
  /** x, y in turn. */
  xy: Float64Array;
  instance: number;
}

export interface Point {
  x: number;
  y: number;
  instance: number;
  /** A keypoint that is labelled but hidden in the picture is drawn hollow. */
  hollow: boolean;
}

export interface Edge {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  instance: number;
}

export interface PictureSize {
  width: number;
  height: number;
}

/** Shapes beyond this number are not drawn, so that a sample cannot stop the page. */
export const maxShapes = 200_000;
const maxCoordinate = 1e7;

const none = { boxes: new Float64Array(0), boxOf: new Uint32Array(0) };

function empty(problem = ""): Shapes {
  return { ...none, polygons: [], points: [], edges: [], instances: 0, problem };
}

/** The shapes of a sample of a tensor. A sample that is not there has none. */
export function shapesOf(tensor: Tensor, sample: Sample, picture: PictureSize): Shapes {
  switch (tensor.draw) {
    case "boxes": return boxesOf(tensor, sample, picture);
    case "polygons": return polygonsOf(sample);
    case "keypoints": return keypointsOf(tensor, sample);
    case "points": return pointsOf(sample);
    default: return empty();
  }
}

/** Returns the numbers of an array; undefined: the sample is no array. */
export function numbersOf(sample: Sample): ArrayLike<number> | undefined {
  if (sample.kind !== "array") return undefined;
  const { data } = sample;
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    const numbers = new Float64Array(data.length);
    for (let i = 0; i < data.length; i++) numbers[i] = Number(data[i]);
    return numbers;
  }
  return data;
}

function problemOf(sample: Sample): string {
  if (sample.kind === "error") return sample.message;
  if (sample.kind === "array") return `an array of shape (${sample.shape.join(", ")})`;
  return sample.kind === "missing" ? "" : `a sample of kind ${sample.kind}`;
}

function boxesOf(tensor: Tensor, sample: Sample, picture: PictureSize): Shapes {
  const numbers = numbersOf(sample);
  if (!numbers || sample.kind !== "array") return empty(problemOf(sample));
  if (numbers.length === 0) return empty();
  if (sample.shape.at(-1) !== 4) return empty(problemOf(sample));
  const count = Math.min(maxShapes, numbers.length / 4);
  const sx = tensor.fractional ? picture.width : 1;
  const sy = tensor.fractional ? picture.height : 1;
  const boxes = new Float64Array(4 * count);
  const boxOf = new Uint32Array(count);
  let kept = 0;
  for (let i = 0; i < count; i++) {
    if (!corners(numbers, 4 * i, tensor.boxes ?? "LTRB", sx, sy, boxes, 4 * kept)) continue;
    boxOf[kept++] = i;
  }
  return {
    ...empty(), instances: numbers.length / 4,
    boxes: boxes.subarray(0, 4 * kept), boxOf: boxOf.subarray(0, kept),
  };
}

/** Writes the corners of one box; false: it has none. Sides in the wrong order are exchanged. */
function corners(from: ArrayLike<number>, at: number, mode: "LTRB" | "LTWH" | "CCWH", sx: number,
  sy: number, into: Float64Array, to: number): boolean {
  const a = from[at] * sx;
  const b = from[at + 1] * sy;
  const c = from[at + 2] * sx;
  const d = from[at + 3] * sy;
  const left = mode === "CCWH" ? a - c / 2 : a;
  const top = mode === "CCWH" ? b - d / 2 : b;
  const right = mode === "LTRB" ? c : left + c;
  const bottom = mode === "LTRB" ? d : top + d;
  // A difference of infinities is no number either.
  if (Number.isNaN(left) || Number.isNaN(top)) return false;
  if (Number.isNaN(right) || Number.isNaN(bottom)) return false;
  into[to] = bounded(Math.min(left, right));
  into[to + 1] = bounded(Math.min(top, bottom));
  into[to + 2] = bounded(Math.max(left, right));
  into[to + 3] = bounded(Math.max(top, bottom));
  return true;
}

function bounded(value: number): number {
  return value < -maxCoordinate ? -maxCoordinate : value > maxCoordinate ? maxCoordinate : value;
}

function polygonsOf(sample: Sample): Shapes {
  const items = sample.kind === "items" ? sample.items : [sample];
  const shapes = empty();
  let points = 0;
  for (let instance = 0; instance < items.length && instance < maxShapes; instance++) {
    const item = items[instance];
    if (!item) continue;
    const numbers = numbersOf(item);
    if (!numbers || item.kind !== "array") {
      shapes.problem ||= problemOf(item);
      continue;
    }
    if (numbers.length > 0 && item.shape.at(-1) !== 2) {
      shapes.problem ||= problemOf(item);
      continue;
    }
    points += numbers.length / 2;
    if (points > maxShapes) {
      shapes.problem ||= `more than ${maxShapes} points`;
      break;
    }
    for (const xy of partsOf(numbers)) {
      if (xy.length >= 4) shapes.polygons.push({ xy, instance });
    }
  }
  shapes.instances = items.length;
  return shapes;
}

/** Returns the parts of an outline: a point of NaN ends each. Other broken points are left out. */
function partsOf(numbers: ArrayLike<number>): Float64Array[] {
  const xy = new Float64Array(numbers.length - numbers.length % 2);
  const parts: Float64Array[] = [];
  let kept = 0;
  let from = 0;
  for (let i = 0; i + 1 < numbers.length; i += 2) {
    if (Number.isNaN(numbers[i]) && Number.isNaN(numbers[i + 1])) {
      parts.push(xy.subarray(from, kept));
      from = kept;
    }
    if (!Number.isFinite(numbers[i]) || !Number.isFinite(numbers[i + 1])) continue;
    xy[kept++] = bounded(numbers[i]);
    xy[kept++] = bounded(numbers[i + 1]);
  }
  parts.push(xy.subarray(from, kept));
  return parts;
}

/**
 * Reads keypoints as COCO has them: x, y, visibility in turn along the first axis, one column an
 * instance.
 */
function keypointsOf(tensor: Tensor, sample: Sample): Shapes {
  const numbers = numbersOf(sample);
  if (!numbers || sample.kind !== "array") return empty(problemOf(sample));
  const rank = sample.shape.length;
  if (numbers.length === 0) return empty();
  if (rank < 1 || rank > 2 || sample.shape[0] % 3 !== 0) return empty(problemOf(sample));
  const keypoints = sample.shape[0] / 3;
  const instances = rank === 2 ? sample.shape[1] : 1;
  if (numbers.length > 3 * maxShapes) return empty(`more than ${maxShapes} keypoints`);
  const shapes = empty();
  shapes.instances = instances;
  const skeleton = skeletonOf(tensor.info, keypoints);
  for (let instance = 0; instance < instances; instance++) {
    const at = (keypoint: number, field: number): number =>
      numbers[(3 * keypoint + field) * instances + instance];
    const seen = (k: number): boolean =>
      at(k, 2) > 0 && Number.isFinite(at(k, 0)) && Number.isFinite(at(k, 1));
    for (let k = 0; k < keypoints; k++) {
      if (!seen(k)) continue;
      shapes.points.push({
        x: bounded(at(k, 0)), y: bounded(at(k, 1)), instance, hollow: at(k, 2) === 1,
      });
    }
    for (const [from, to] of skeleton) {
      if (!seen(from) || !seen(to) || shapes.edges.length >= maxShapes) continue;
      shapes.edges.push({
        x0: bounded(at(from, 0)), y0: bounded(at(from, 1)),
        x1: bounded(at(to, 0)), y1: bounded(at(to, 1)), instance,
      });
    }
  }
  return shapes;
}

const maxEdges = 1000;

/**
 * Returns the edges between keypoints, if the info of the tensor states them. Pairs that name the
 * keypoint behind the last one, and never keypoint 0, count from 1 as COCO does.
 */
export function skeletonOf(info: Record<string, unknown>, keypoints: number): [number, number][] {
  const stated = Array.isArray(info.skeleton) ? info.skeleton : info.connections;
  if (!Array.isArray(stated)) return [];
  const pairs: [number, number][] = [];
  for (const pair of stated.slice(0, maxEdges) as unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2) continue;
    const [from, to] = pair as unknown[];
    if (Number.isInteger(from) && Number.isInteger(to)) pairs.push([from as number, to as number]);
  }
  const indices = pairs.flat();
  const first = indices.includes(keypoints) && !indices.includes(0) ? 1 : 0;
  return pairs.map(([from, to]): [number, number] => [from - first, to - first])
    .filter(([from, to]) => from >= 0 && from < keypoints && to >= 0 && to < keypoints);
}

function pointsOf(sample: Sample): Shapes {
  const numbers = numbersOf(sample);
  if (!numbers || sample.kind !== "array") return empty(problemOf(sample));
  if (numbers.length === 0) return empty();
  const width = sample.shape.at(-1) ?? 0;
  if (width < 2 || width > 4) return empty(problemOf(sample));
  const shapes = empty();
  shapes.instances = numbers.length / width;
  for (let i = 0; i < shapes.instances && i < maxShapes; i++) {
    const x = numbers[width * i];
    const y = numbers[width * i + 1];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    shapes.points.push({ x: bounded(x), y: bounded(y), instance: i, hollow: false });
  }
  return shapes;
}

/** Returns the class of each instance, from a label sample that fits, else its index. */
export function classesOf(labels: Sample | undefined, instances: number): (instance: number) => number {
  const numbers = labels && numbersOf(labels);
  if (!numbers || !labelsFit(labels, instances)) return (instance) => instance;
  return (instance) => numbers[numbers.length === 1 ? 0 : instance];
}

/**
 * Reports whether labels state the classes of so many instances: one for each, or a single one for
 * the row. A list of one class says nothing of three shapes.
 */
export function labelsFit(labels: Sample | undefined, instances: number): boolean {
  if (labels?.kind !== "array" || labels.data.length === 0) return false;
  return labels.data.length === instances || labels.shape.length === 0;
}

/** Returns the place in the palette of a class. */
export function codeOf(value: number): number {
  return Number.isFinite(value) && value >= 0 ? classOf(value) : noClass;
}

/** Returns the part of a segment within a rectangle as x0, y0, x1, y1; false: there is none. */
export function clipSegment(x0: number, y0: number, x1: number, y1: number, left: number,
  top: number, right: number, bottom: number, into: Float64Array): boolean {
  const dx = x1 - x0;
  const dy = y1 - y0;
  let enter = 0;
  let leave = 1;
  // Liang and Barsky: each side cuts off a part of the parameter.
  for (let side = 0; side < 4; side++) {
    const p = side === 0 ? -dx : side === 1 ? dx : side === 2 ? -dy : dy;
    const q = side === 0 ? x0 - left : side === 1 ? right - x0 : side === 2 ? y0 - top : bottom - y0;
    if (p === 0) {
      if (q < 0) return false;
    } else if (p < 0) {
      enter = Math.max(enter, q / p);
    } else {
      leave = Math.min(leave, q / p);
    }
  }
  if (enter > leave) return false;
  into[0] = x0 + enter * dx;
  into[1] = y0 + enter * dy;
  into[2] = x0 + leave * dx;
  into[3] = y0 + leave * dy;
  return true;
}
