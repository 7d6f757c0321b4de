// Pairs of annotations over one picture: truth and predictions.

import type { Tensor, View } from "../data/protocol";
import { quoteName } from "./tql";

const pairDraws: ReadonlySet<string> =
  new Set(["boxes", "mask", "segments", "polygons", "keypoints", "points"]);
const truthNames = /truth|(^|[^a-z])gt([^a-z]|$)|target|annotat|label/i;
const predictionNames = /pred|detect|infer|output|model/i;

export type Pair = readonly [truth: string, prediction: string];

/** The annotations of a picture that can be set against each other: two or more of one kind. */
export function rivalsOf(view: View, primary: string): Tensor[] {
  const over = view.tensors.filter((t) => pairDraws.has(t.draw) && t.over === primary && primary !== "");
  const kinds = new Map<string, number>();
  for (const { draw } of over) kinds.set(draw, (kinds.get(draw) ?? 0) + 1);
  return over.filter(({ draw }) => (kinds.get(draw) ?? 0) > 1);
}

/** The pair that names suggest; undefined: there is none. */
export function guessPair(rivals: readonly Tensor[]): Pair | undefined {
  const truth = rivals.find(({ name }) => truthNames.test(name) && !predictionNames.test(name))
    ?? rivals.find(({ name }) => !predictionNames.test(name)) ?? rivals[0];
  const others = rivals.filter((t) => t !== truth && t.draw === truth?.draw);
  const prediction = others.find(({ name }) => predictionNames.test(name)) ?? others[0];
  return truth && prediction ? [truth.name, prediction.name] : undefined;
}

/** The least IOU of a match. It stands in the query, so that it can be changed there. */
const leastMatch = "0.5";

/**
 * A number in TQL for the agreement of two tensors of boxes: the part of all boxes that have a
 * partner, 0 to 1; NaN, which sorts last, without boxes. "": it cannot be computed.
 *
 * IOU(a, b) alone is the best pair of a row: one good match would hide ten wrong boxes.
 */
export function agreement(truth: Tensor, prediction: Tensor, primary: string, keywords: ReadonlySet<string>): string {
  if (truth.draw !== "boxes" || prediction.draw !== "boxes" || truth.sequence || prediction.sequence) return "";
  const picture = quoteName(primary, keywords);
  const unlike = Boolean(truth.fractional) !== Boolean(prediction.fractional);
  const boxes = (t: Tensor): string => {
    const name = quoteName(t.name, keywords);
    return unlike && !t.fractional ? `NORMALIZE(${name}, [0, 0, SHAPE(${picture})[1], SHAPE(${picture})[0]])` : name;
  };
  const pairs = `IOU(${boxes(truth)}, ${boxes(prediction)}, 'pairwise') >= ${leastMatch}`;
  const count = (t: Tensor): string => `SHAPE(${quoteName(t.name, keywords)})[0]`;
  return `(SUM(ANY(${pairs}, 1)) + SUM(ANY(${pairs}, 0))) / (${count(truth)} + ${count(prediction)})`;
}
