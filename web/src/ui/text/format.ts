// Formats names, counts, forms and times for the panels.

import type { Stats, Tensor, View } from "../../data/protocol";

/** Returns the name of the dataset, or the end of its address. */
export function datasetName({ name, uri }: Pick<View, "name" | "uri">): string {
  return name || uri.replace(/\/+$/, "").split("/").pop() || uri;
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Formats a number of rows, or of instances where the statistics count these. */
export function formatRows(rows: number, stats: Pick<Stats, "unit"> | undefined): string {
  return formatCount(rows, stats?.unit === "instances" ? "instance" : "row");
}

/** Returns the declared form of a tensor: dtype and shape, with the range of sides that vary. */
export function formatForm(tensor: Tensor): string {
  const { shape, min_shape: least, max_shape: most } = tensor;
  const sides = (shape ?? most ?? []).map((side, axis) => {
    if (side >= 0 && !(least && most && least[axis] !== most[axis])) return String(side);
    const low = least?.[axis];
    const high = most?.[axis];
    return low === undefined || high === undefined ? "?" : low === high ? String(low) : `${low}–${high}`;
  });
  const form = sides.length > 0 ? `(${sides.join(", ")})` : "";
  return [tensor.dtype ?? "", form].filter(Boolean).join(" ");
}

/** "3 days ago" */
export function formatAgo(time: string, now: number = Date.now()): string {
  const then = Date.parse(time);
  if (Number.isNaN(then)) return time;
  const seconds = (then - now) / 1000;
  const steps: [Intl.RelativeTimeFormatUnit, number][] = [["year", 31_556_952], ["month", 2_629_746],
    ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 10 ? "now" : format.format(Math.trunc(seconds), "second");
}
