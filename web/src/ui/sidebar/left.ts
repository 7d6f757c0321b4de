// Estimates the rest of the time of a count.

import type { Progress } from "../../data/protocol";

/** The progress of a count at a time, in seconds. */
export interface Sight extends Progress {
  time: number;
}

const kept = 10;

/** Adds a sight to the last ones. A count that began again, or an unknown one, has none before. */
export function seenNext(seen: readonly Sight[], time: number, progress: Progress): Sight[] {
  if (progress.total === 0) return [];
  const last = seen[seen.length - 1];
  const same = last !== undefined && last.total === progress.total && last.done <= progress.done;
  return [...(same ? seen.slice(1 - kept) : []), { ...progress, time }];
}

/**
 * Returns the seconds that are left at the rate of the last sights; undefined: too little was seen.
 */
export function secondsLeft(seen: readonly Sight[]): number | undefined {
  const [first, last] = [seen[0], seen[seen.length - 1]];
  const done = last ? last.done - first.done : 0;
  if (done <= 0) return undefined;
  return Math.max(1, Math.round((last.total - last.done) / done * (last.time - first.time)));
}
