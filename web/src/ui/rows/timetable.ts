// The times of the frames of one video, read window by window, and the frame that a player shows.

import type { FrameTimes } from "../../data/protocol";
import { frameAt, type Length, stepFrom } from "./frames";

/** Windows of times that are kept: seeking back and forth reads none twice. */
const mostWindows = 8;
/** Frames before the end of the known times at which the next window is read. */
const ahead = 128;

/** Seconds of the video after which a read that failed is repeated. */
const pause = 5;

export class Timetable {
  private windows: FrameTimes[] = [];
  private reading: Promise<void> | undefined;
  /** Where a read of a playing player failed or told nothing. Each frame would repeat it. */
  private barred = NaN;
  /** The callback of `follow`, which is called after the read of `find` or `step`. */
  private late: (() => void) | undefined;

  /** `read` returns the times around a time. */
  constructor(readonly length: Length, private readonly read: (at: number) => Promise<FrameTimes>) {}

  /** Returns the frame on show; undefined: the known times do not reach it. */
  frameAt(time: number): number | undefined {
    for (const window of this.windows) {
      const frame = frameAt(window, this.length, time);
      if (frame !== undefined) return frame;
    }
    return undefined;
  }

  /** Returns the frame on show, after reading times where that is needed. */
  async find(time: number): Promise<number | undefined> {
    return this.needed(time, () => this.frameAt(time));
  }

  /** Returns the time that shows the frame after (by 1) or before (by -1) the one on show. */
  async step(time: number, by: 1 | -1): Promise<number | undefined> {
    return this.needed(time, () => {
      for (const window of this.windows) {
        const to = stepFrom(window, this.length, time, by);
        if (to !== undefined) return to;
      }
      return undefined;
    });
  }

  /**
   * Returns the frame on show of a player that plays, at once. Reads missing times and those ahead,
   * one window at a time, and calls `came` after each.
   */
  follow(time: number, came: () => void): number | undefined {
    const frame = this.frameAt(time);
    const from = frame === undefined ? time : this.endAfter(frame);
    if (from !== undefined && !this.reading && !(Math.abs(time - this.barred) < pause)) {
      this.load(from).then(() => {
        const now = this.frameAt(time);
        this.barred = now === undefined || this.endAfter(now) === from ? time : NaN;
        came();
      }, () => void (this.barred = time));
    } else if (frame === undefined && this.reading) {
      this.late = came;
    }
    return frame;
  }

  private async needed<T>(time: number, look: () => T | undefined): Promise<T | undefined> {
    let found = look();
    // A read on its way may be of another window.
    for (let reads = 0; reads < 2 && found === undefined; reads++) {
      await this.load(time);
      found = look();
    }
    this.barred = NaN;
    return found;
  }

  /** Returns the last known time soon behind a frame; undefined: more frames are known. */
  private endAfter(frame: number): number | undefined {
    let end = frame;
    let last: number | undefined;
    for (const { first, times } of [...this.windows].sort((a, b) => a.first - b.first)) {
      if (first > end || first + times.length <= end) continue;
      end = first + times.length;
      last = times[times.length - 1];
    }
    return end >= this.length.frames || end - frame > ahead ? undefined : last;
  }

  private load(time: number): Promise<void> {
    this.reading ??= this.read(time).then((window) => {
      this.windows = [window, ...this.windows].slice(0, mostWindows);
    }).finally(() => {
      const { late } = this;
      this.reading = this.late = undefined;
      late?.();
    });
    return this.reading;
  }
}

/** The part of a player that tells the frame on show. */
export type Watched = Pick<HTMLVideoElement, "paused" | "currentTime" | "addEventListener" | "removeEventListener"> &
  Partial<Pick<HTMLVideoElement, "requestVideoFrameCallback" | "cancelVideoFrameCallback">>;

/**
 * Calls back with the time of each frame that the browser shows. Where it does not tell, the time
 * of the player stands for that. Returns a function that ends the calls.
 */
export function watchFrames(video: Watched, shown: (time: number) => void): () => void {
  if (video.requestVideoFrameCallback) {
    const next: VideoFrameRequestCallback = (_, { mediaTime }) => {
      shown(mediaTime);
      handle = video.requestVideoFrameCallback?.(next) ?? 0;
    };
    let handle = video.requestVideoFrameCallback(next);
    return () => video.cancelVideoFrameCallback?.(handle);
  }
  const rest = (): void => shown(video.currentTime);
  let handle = requestAnimationFrame(function tick() {
    if (!video.paused) rest();
    handle = requestAnimationFrame(tick);
  });
  const events = ["loadeddata", "seeked", "pause"];
  for (const name of events) video.addEventListener(name, rest);
  return () => {
    cancelAnimationFrame(handle);
    for (const name of events) video.removeEventListener(name, rest);
  };
}
