// Finds the frames of a video around a time, and the times that a player seeks to.

import type { FrameTimes } from "../../data/protocol";

/** The length of a video. */
export interface Length {
  frames: number;
  /** The end of the last frame, in seconds. */
  duration: number;
}

/** Browsers round the times that they are set to. */
const slack = 1e-4;
/** The most of a frame that a seek goes into it: some frames stand for minutes. */
const farthest = 0.5;

/** Returns the place in ascending times of the frame on show at a time; -1: none is yet. */
export function placeAt(times: readonly number[], time: number): number {
  let from = 0;
  let to = times.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle] <= time + slack) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

/** Returns the number of the frame on show; undefined: the times do not reach it. */
export function frameAt(known: FrameTimes | undefined, length: Length, time: number): number | undefined {
  if (!known || known.times.length === 0) return undefined;
  const at = placeAt(known.times, time);
  if (at < 0) return known.first === 0 ? 0 : undefined;
  const last = known.first + at;
  return at < known.times.length - 1 || last === length.frames - 1 ? last : undefined;
}

/**
 * Returns the time that shows the next frame (by 1) or the one before (by -1): within the frame, so
 * that rounding does not lead to its neighbour. The first and the last frame stay. undefined: the
 * times do not reach so far.
 */
export function stepFrom(known: FrameTimes | undefined, length: Length, time: number, by: 1 | -1): number | undefined {
  const frame = frameAt(known, length, time);
  if (frame === undefined || !known) return undefined;
  const { first, times } = known;
  let at = frame - first;
  const from = times[at];
  // Frames of equal times, as coarse clocks give them, count as one: a player shows one of them.
  while (at >= 0 && at < times.length && times[at] === from) at += by;
  if (at < 0) return first === 0 ? within(known, length, 0) : undefined;
  if (at >= times.length) return first + times.length === length.frames ? within(known, length, times.length - 1) : undefined;
  return within(known, length, at);
}

function within({ first, times }: FrameTimes, { frames, duration }: Length, at: number): number {
  let next = at + 1;
  while (next < times.length && times[next] === times[at]) next++;
  const end = next < times.length ? times[next] : first + next >= frames ? duration : times[at];
  return times[at] + Math.min(farthest, Math.max(0, end - times[at]) / 2);
}
