// Pairs of annotations over one picture: truth and predictions.

import type { Tensor, View } from "../../data/protocol";
import { quoteName } from "../text/tql";

const pairDraws: ReadonlySet<string> =
  new Set(["boxes", "mask", "segments", "polygons", "keypoints", "points"]);
const truthNames = /truth|(^|[^a-z])gt([^a-z]|$)|target|annotat|label/i;
const predictionNames = /pred|detect|infer|output|model/i;

export type Pair = readonly [truth: string, prediction: string];

/**
 * Returns the annotations of a picture that can be set against each other: two or more of one kind.
 */
export function rivalsOf(view: View, primary: string): Tensor[] {
  const over = view.tensors.filter((t) => pairDraws.has(t.draw) && t.over === primary && primary !== "");
  const kinds = new Map<string, number>();
  for (const { draw } of over) kinds.set(draw, (kinds.get(draw) ?? 0) + 1);
  return over.filter(({ draw }) => (kinds.get(draw) ?? 0) > 1);
}

/** Returns the pair that names suggest; undefined: there is none. */
export function guessPair(rivals: readonly Tensor[]): Pair | undefined {
  const truth = rivals.find(({ name }) => truthNames.test(name) && !predictionNames.test(name))
    ?? rivals.find(({ name }) => !predictionNames.test(name)) ?? rivals[0];
  const others = rivals.filter((t) => t !== truth && t.draw === truth?.draw);
  const prediction = others.find(({ name }) => predictionNames.test(name)) ?? others[0];
  return truth && prediction ? [truth.name, prediction.name] : undefined;
}

/** The least IOU of a match. It stands in the query, so that it can be changed there. */
const leastMatch = "0.5";

const kindWords = /(bbox|box|label|class|categor|score|conf|prob)[a-z]*/gi;
const scoreWords = /score|conf|prob/i;

/** Returns the common part of the names of a set of annotations: "pred" of "pred_boxes". */
function stemOf(name: string): string {
  return name.replace(kindWords, "").replace(/[^\p{L}\p{N}/]+/gu, "").toLowerCase();
}

/**
 * Returns the tensor with a value for each box, among those of a kind in the group of the boxes.
 */
function companion(view: View, boxes: Tensor, rival: Tensor, is: (t: Tensor) => boolean): Tensor | undefined {
  const near = view.tensors.filter((t) => t !== boxes && t.group === boxes.group && !t.sequence && is(t) &&
    (t.max_shape ?? t.shape ?? [0]).length < 2);
  // Where truth and prediction share a group, only names tell which tensors belong together.
  const alike = near.find((t) => stemOf(t.name) === stemOf(boxes.name));
  return alike ?? (boxes.group === rival.group ? undefined : near[0]);
}

const isClass = (t: Tensor): boolean => t.draw === "label";
const isScore = (t: Tensor): boolean =>
  (t.draw === "number" || t.draw === "array") && scoreWords.test(t.name.slice(t.name.lastIndexOf("/") + 1));

/**
 * Returns an expression in TQL for the agreement of two tensors of boxes: the part of all boxes
 * that have a partner, 0 to 1; NaN, which sorts last, without boxes. Classes and scores count where
 * tensors have them. "": it cannot be computed.
 *
 * IOU(a, b) alone gives the best pair of a row: one good match would hide ten wrong boxes.
 */
export function agreement(view: View, truth: Tensor, prediction: Tensor, primary: string,
  keywords: ReadonlySet<string>): string {
  if (truth.draw !== "boxes" || prediction.draw !== "boxes" || truth.sequence || prediction.sequence) return "";
  const nameOf = (t: Tensor): string => quoteName(t.name, keywords);
  const picture = quoteName(primary, keywords);
  const unlike = Boolean(truth.fractional) !== Boolean(prediction.fractional);
  const boxes = (t: Tensor): string =>
    unlike && !t.fractional ? `NORMALIZE(${nameOf(t)}, [0, 0, SHAPE(${picture})[1], SHAPE(${picture})[0]])` : nameOf(t);
  const classes = [companion(view, truth, prediction, isClass), companion(view, prediction, truth, isClass)];
  const scores = companion(view, prediction, truth, isScore);
  const more = [...(classes[0] && classes[1] ? classes : []), scores].filter((t) => t !== undefined).map(nameOf);
  const pairs = [boxes(truth), boxes(prediction), leastMatch, ...more].join(", ");
  const count = (t: Tensor): string => `SHAPE(${nameOf(t)})[0]`;
  return `2 * BOX_MATCHES(${pairs}) / (${count(truth)} + ${count(prediction)})`;
}

/**
 * Returns the name of the column with the agreement: its measure, the F1 score, unless a tensor has
 * it.
 */
export function scoreName(view: View): string {
  const taken = new Set(view.tensors.filter(({ computed }) => !computed).map(({ name }) => name));
  let name = "f1";
  for (let i = 2; taken.has(name); i++) name = `f1_${i}`;
  return name;
}
