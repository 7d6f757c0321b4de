// Describes one changed row of a comparison: its changed tensors, and their values as text.

import type { Diff, Tensor, View } from "../../data/protocol";
import type { Sample } from "../../data/samples";
import { arrayLines, describe } from "../text/describe";

/** Two versions, and the rows and tensors that differ between them. */
export interface Comparison {
  diff: Diff;
  from: View;
  to: View;
}

/** A tensor on both sides of a comparison; undefined: that version does not have it. */
export interface ChangedTensor {
  name: string;
  before: Tensor | undefined;
  after: Tensor | undefined;
}

const mostTensors = 200;
/** Arrays of more values are described by their shape alone. */
const mostValues = 256;
const mostText = 4000;

/** The tensors that differ in some row. A renamed tensor is looked up by its old name before. */
export function changedTensors(diff: Diff, from: View, to: View): ChangedTensor[] {
  const find = (view: View, name: string): Tensor | undefined =>
    view.tensors.find((tensor) => tensor.name === name);
  return diff.tensors.filter((t) => t.change !== "changed" || t.updated > 0)
    .map((t) => ({ name: t.name, before: find(from, t.was ?? t.name), after: find(to, t.name) }))
    .filter(({ before, after }) => before !== undefined || after !== undefined)
    .slice(0, mostTensors);
}

/** Returns a value for a cell of the table; undefined: it has not come. */
export function valueText(sample: Sample | undefined, tensor: Tensor): string | undefined {
  switch (sample?.kind) {
    case undefined:
      return undefined;
    case "text":
      return clip(sample.text, !sample.whole);
    case "json":
      return clip(sample.value === undefined ? sample.text : JSON.stringify(sample.value, null, 2), false);
    case "array": {
      const isPicture = ["image", "mask", "segments", "video"].includes(tensor.draw);
      if (isPicture || sample.data.length === 0) return describe(sample, tensor);
      if (sample.data.length > mostValues) return `${sample.dtype} of shape (${sample.shape.join(", ")})`;
      return arrayLines(sample, tensor, mostValues).join("\n");
    }
    default:
      return describe(sample, tensor);
  }
}

function clip(text: string, cut: boolean): string {
  return text.length > mostText || cut ? `${text.slice(0, mostText)}…` : text;
}

/**
 * Reports whether the text of a sample holds all of its value. The text of a picture is its size,
 * and that of a long value its beginning.
 */
export function isWhole(sample: Sample | undefined): boolean {
  if (sample?.kind === "array") return sample.data.length <= mostValues && sample.width === undefined;
  if (sample?.kind === "text") return sample.whole && sample.text.length <= mostText;
  return sample?.kind === "missing" || sample?.kind === "json" && sample.text.length < mostText;
}
