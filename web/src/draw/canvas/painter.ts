// Adds the annotations of one picture to a scene.

import type { Tensor } from "../../data/protocol";
import type { Sample, SampleStore } from "../../data/samples";
import { noClass } from "../colors";
import type { Rect } from "../geometry";
import { code, type Scene } from "../gpu/scene";
import { lineHeight } from "../gpu/texts";
import type { Coloring, Overlay, Plan } from "../plan";
import { className, itemOf, placeOf } from "../plan";
import {
  classesOf, clipSegment, codeOf, labelsFit, numbersOf, type PictureSize, type Polygon, type Shapes, shapesOf,
} from "../shapes";
import { clipPolygon, maxFillPoints, thin, triangulate } from "../triangles";
import { tagAt } from "./tags";

/** The sample of an overlay at one picture, with the shapes and classes of its instances. */
export interface Annotation {
  overlay: Overlay;
  sample: Sample;
  shapes: Shapes;
  classOf(instance: number): number;
  /** Classes that are not drawn: those of the tensor that names the instances. */
  hidden: ReadonlySet<number>;
  nameOf(instance: number): string;
  /** The place of an instance in the palette. */
  placeOf(instance: number): number;
}

export interface PaintOptions {
  /** Texels of the longer side of masks; 0: all. */
  maskSide: number;
  /** Names stand at boxes that are at least so many world units wide; Infinity: none do. */
  namesFrom: number;
  /** CSS pixels of the widest name. */
  nameWidth: number;
  /** Names stay within it and cover no other name. The world has CSS pixels then, since the sizes
   * of names are fixed. undefined: names stand at the corners of boxes at any zoom. */
  namesWithin?: Rect;
  /** How far shapes may lie outside of the picture, in its sizes. */
  margin: number;
}

interface Fill {
  xy: ArrayLike<number>;
  triangles: number[];
}

const maxNames = 2000;
/** Names of one cell: each is compared with all others. */
const maxTags = 100;

export class Painter {
  private shapes = new WeakMap<Sample, { width: number; height: number; shapes: Shapes }>();
  private fills = new WeakMap<Polygon, Fill>();
  private readonly segment = new Float64Array(4);
  private names = 0;
  /** Where the names of the picture stand. */
  private tags: Rect[] = [];

  /** Starts a new scene. */
  begin(): void {
    this.names = 0;
  }

  /** Returns the annotations of a picture whose samples have come. */
  annotations(store: SampleStore, plan: Plan, row: number, item: number,
    size: PictureSize, pane = 0): Annotation[] {
    const found: Annotation[] = [];
    for (const overlay of plan.overlays) {
      if (!overlay.visible || plan.panes[pane]?.has(overlay.tensor)) continue;
      const { tensor } = overlay;
      const sample = itemOf(store.peek(row, tensor.name), tensor, item);
      if (sample) found.push(this.annotation(store, overlay, row, item, sample, size));
    }
    return found;
  }

  private annotation(store: SampleStore, overlay: Overlay, row: number, item: number,
    sample: Sample, size: PictureSize): Annotation {
    const shapes = this.shapesOf(overlay.tensor, sample, size);
    const instances = instancesOf(overlay.tensor, sample, shapes);
    let labels: Sample | undefined;
    let named: Tensor | undefined;
    let { hidden } = overlay;
    for (const naming of overlay.labels) {
      const candidate = itemOf(store.peek(row, naming.tensor.name), naming.tensor, item);
      if (!labelsFit(candidate, instances)) continue;
      labels = candidate;
      named = naming.tensor;
      ({ hidden } = naming);
      break;
    }
    const byLabel = classesOf(labels, instances);
    // Values of a segment mask are classes already.
    const classOf = overlay.tensor.draw === "segments" ? (value: number) => value : byLabel;
    const nameOf = (instance: number): string => {
      if (named) return className(named, classOf(instance));
      return overlay.tensor.class_names.length > 0
        ? className(overlay.tensor, classOf(instance)) : "";
    };
    const { color } = overlay;
    const other = color && placesOf(color, itemOf(store.peek(row, color.tensor.name), color.tensor, item), instances);
    const placeOf = (instance: number): number => {
      const own = codeOf(classOf(instance));
      return hidden.has(own) ? noClass : other?.(instance) ?? own;
    };
    return { overlay, sample, shapes, classOf, hidden, nameOf, placeOf };
  }

  private shapesOf(tensor: Tensor, sample: Sample, size: PictureSize): Shapes {
    const known = this.shapes.get(sample);
    if (known && known.width === size.width && known.height === size.height) return known.shapes;
    const shapes = shapesOf(tensor, sample, size);
    this.shapes.set(sample, { width: size.width, height: size.height, shapes });
    return shapes;
  }

  /** Paints all annotations of a picture that lies at `place` in the world. */
  paint(scene: Scene, annotations: readonly Annotation[], size: PictureSize, place: Rect,
    options: PaintOptions): void {
    this.tags = [];
    for (const one of annotations) {
      const { palette, tensor } = one.overlay;
      if (tensor.draw === "segments") {
        scene.addSegments(one.sample, place, palette, options.maskSide);
      } else if (tensor.draw === "mask") {
        const codes = (mask: number): number => one.placeOf(mask);
        scene.addMasks(one.sample, place, palette, codes, options.maskSide);
      } else {
        this.paintShapes(scene, one, size, place, options);
      }
    }
  }

  private paintShapes(scene: Scene, one: Annotation, size: PictureSize, place: Rect,
    options: PaintOptions): void {
    const to: Target = {
      scene, x: place.x, y: place.y, sx: place.width / size.width, sy: place.height / size.height,
      left: -options.margin * size.width, top: -options.margin * size.height,
      right: (1 + options.margin) * size.width, bottom: (1 + options.margin) * size.height,
    };
    this.paintBoxes(one, to, options);
    for (const polygon of one.shapes.polygons) {
      const color = codeAt(one, polygon.instance);
      this.fillPolygon(polygon, to, color);
      this.outline(polygon.xy, to, color);
    }
    for (const edge of one.shapes.edges) {
      this.line(edge.x0, edge.y0, edge.x1, edge.y1, to, codeAt(one, edge.instance));
    }
    for (const point of one.shapes.points) {
      if (point.x < to.left || point.x > to.right || point.y < to.top || point.y > to.bottom) continue;
      scene.addPoint(to.x + point.x * to.sx, to.y + point.y * to.sy,
        codeAt(one, point.instance, point.hollow));
    }
  }

  private paintBoxes(one: Annotation, to: Target, options: PaintOptions): void {
    const { boxes, boxOf } = one.shapes;
    for (let i = 0; i < boxOf.length; i++) {
      const left = Math.max(boxes[4 * i], to.left);
      const top = Math.max(boxes[4 * i + 1], to.top);
      const right = Math.min(boxes[4 * i + 2], to.right);
      const bottom = Math.min(boxes[4 * i + 3], to.bottom);
      // What lies outside is not drawn into the cells beside.
      if (left > right || top > bottom) continue;
      const x = to.x + left * to.sx;
      const y = to.y + top * to.sy;
      const x1 = to.x + right * to.sx;
      const y1 = to.y + bottom * to.sy;
      to.scene.addBox(x, y, x1, y1, codeAt(one, boxOf[i]));
      if (x1 - x < options.namesFrom || this.names >= maxNames) continue;
      if (one.placeOf(boxOf[i]) === noClass) continue;
      const name = one.nameOf(boxOf[i]);
      if (name !== "") this.addName(name, { x, y, width: x1 - x, height: y1 - y }, to.scene, options,
        codeAt(one, boxOf[i], true));
    }
  }

  private addName(name: string, box: Rect, scene: Scene, options: PaintOptions, color: number): void {
    let at: Pick<Rect, "x" | "y"> | undefined = box;
    let width = options.nameWidth;
    if (options.namesWithin) {
      if (this.tags.length >= maxTags) return;
      width = Math.min(width, options.namesWithin.width);
      const size = { width: scene.textWidth(name, width), height: lineHeight };
      at = tagAt(box, size, options.namesWithin, this.tags);
      if (at) this.tags.push({ ...size, x: at.x, y: at.y });
    }
    if (!at) return;
    this.names++;
    scene.addText(name, at.x, at.y, 0, 0, width, color);
  }

  private outline(xy: Float64Array, to: Target, color: number): void {
    const count = xy.length / 2;
    // Two points are a line; more of them close.
    for (let i = count > 2 ? 0 : 1, j = count > 2 ? count - 1 : 0; i < count; j = i++) {
      this.line(xy[2 * j], xy[2 * j + 1], xy[2 * i], xy[2 * i + 1], to, color);
    }
  }

  private line(x0: number, y0: number, x1: number, y1: number, to: Target, color: number): void {
    const s = this.segment;
    if (!clipSegment(x0, y0, x1, y1, to.left, to.top, to.right, to.bottom, s)) return;
    to.scene.addLine(to.x + s[0] * to.sx, to.y + s[1] * to.sy,
      to.x + s[2] * to.sx, to.y + s[3] * to.sy, color);
  }

  private fillPolygon(polygon: Polygon, to: Target, color: number): void {
    let fill = this.fills.get(polygon);
    if (!fill) {
      const xy = clipPolygon(thin(polygon.xy, maxFillPoints), to.left, to.top, to.right, to.bottom);
      fill = { xy, triangles: triangulate(xy) };
      // A painter has one margin and a polygon one picture, so that the cut stays right.
      this.fills.set(polygon, fill);
    }
    for (const at of fill.triangles) {
      to.scene.addVertex(to.x + fill.xy[2 * at] * to.sx, to.y + fill.xy[2 * at + 1] * to.sy, color);
    }
  }
}

/** Where shapes go, and the part of the picture's plane that is drawn. */
interface Target {
  scene: Scene;
  x: number;
  y: number;
  sx: number;
  sy: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function codeAt(one: Annotation, instance: number, flag = false): number {
  return code(one.overlay.palette, one.placeOf(instance), flag);
}

/** The places of instances by the values of another tensor; undefined: that of its class. */
function placesOf(color: Coloring, sample: Sample | undefined,
  instances: number): (instance: number) => number | undefined {
  const found = sample && numbersOf(sample);
  const values = found?.length === instances ? found : undefined;
  return (instance) => placeOf(color, values?.[instance]);
}

function instancesOf(tensor: Tensor, sample: Sample, shapes: Shapes): number {
  if (tensor.draw !== "mask") return shapes.instances;
  return sample.kind === "array" && sample.shape.length === 3 ? sample.shape[2] : 1;
}
