import { expect, test } from "vitest";
import type { FrameTimes } from "../../data/protocol";
import { Timetable, watchFrames } from "./timetable";

/** Returns a table of a video whose frames stand for 0.1 and 0.3 s in turn, and the times read. */
function tableOf(frames: number, around: number): { table: Timetable; reads: number[]; times: number[] } {
  const times = Array.from({ length: frames }, (_, i) => 0.2 * i + (i % 2) * -0.1);
  const reads: number[] = [];
  const read = (at: number): Promise<FrameTimes> => {
    reads.push(at);
    const next = times.filter((time) => time <= at).length;
    const first = Math.max(0, next - around);
    return Promise.resolve({ first, times: times.slice(first, next + around) });
  };
  return { table: new Timetable({ frames, duration: 0.2 * frames }, read), reads, times };
}

const settle = (): Promise<void> => new Promise((done) => setTimeout(done));

test("a player that plays gets each frame at once, and times are read ahead, not for each frame", async () => {
  const { table, reads, times } = tableOf(3000, 256);
  expect(await table.find(0)).toBe(0);
  for (const [frame, time] of times.entries()) {
    expect(table.follow(time, () => undefined)).toBe(frame);
    for (let i = 0; i < 9; i++) await Promise.resolve();
  }
  expect(reads.length).toBeLessThan(3000 / 200);
});

test("a seek into unknown times tells the frame once they have come", async () => {
  const { table, reads, times } = tableOf(5000, 256);
  await table.find(0);
  let came = 0;
  expect(table.follow(times[4000] + 0.01, () => came++)).toBeUndefined();
  // One read runs at a time.
  expect(table.follow(times[4001], () => came++)).toBeUndefined();
  await settle();
  expect(came).toBe(2);
  expect(table.follow(times[4000] + 0.01, () => undefined)).toBe(4000);
  expect(reads).toEqual([0, times[4000] + 0.01]);
  // The first window is still there.
  expect(table.frameAt(times[7])).toBe(7);
});

test("a player that begins while times are read gets its frame once they have come", async () => {
  const { table, reads } = tableOf(96, 256);
  const found = table.find(0);
  let came = 0;
  for (let i = 0; i < 3; i++) expect(table.follow(0, () => came++)).toBeUndefined();
  expect(await found).toBe(0);
  await settle();
  expect(came).toBe(1);
  expect(reads).toEqual([0]);
});

test("steps cross from one window to the next", async () => {
  const { table, times } = tableOf(50, 4);
  let time = 0;
  for (let frame = 1; frame < 50; frame++) {
    time = await table.step(time, 1) ?? NaN;
    expect(time >= times[frame] && (frame === 49 || time < times[frame + 1])).toBe(true);
  }
  for (let frame = 48; frame >= 0; frame--) expect(table.frameAt(time = await table.step(time, -1) ?? NaN)).toBe(frame);
});

test("a read that fails is not repeated for each frame, but is for the next rest", async () => {
  let reads = 0;
  let broken = true;
  const table = new Timetable({ frames: 9, duration: 9 }, () => {
    reads++;
    return broken ? Promise.reject(new Error("gone")) : Promise.resolve({ first: 0, times: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
  });
  for (let i = 0; i < 20; i++) {
    expect(table.follow(i / 10, () => undefined)).toBeUndefined();
    await settle();
  }
  expect(reads).toBe(1);
  expect(table.follow(8, () => undefined)).toBeUndefined();
  await settle();
  expect(reads).toBe(2);
  await expect(table.find(0)).rejects.toThrow("gone");
  broken = false;
  expect(await table.find(3.5)).toBe(3);
  expect(table.follow(4.5, () => undefined)).toBe(4);
});

test("times that tell nothing end the reading", async () => {
  let reads = 0;
  const table = new Timetable({ frames: 9, duration: 9 }, () => Promise.resolve({ first: reads++, times: [] }));
  for (let i = 0; i < 20; i++) {
    table.follow(1, () => undefined);
    await settle();
  }
  expect(reads).toBe(1);
  expect(await table.find(1)).toBeUndefined();
});

test("the browser tells the frames that come on show", () => {
  let next: VideoFrameRequestCallback = () => undefined;
  let canceled = -1;
  let calls = 0;
  const shown: number[] = [];
  const end = watchFrames({
    paused: true, currentTime: 99, addEventListener: () => undefined, removeEventListener: () => undefined,
    requestVideoFrameCallback: (callback: VideoFrameRequestCallback) => {
      next = callback;
      return ++calls;
    },
    cancelVideoFrameCallback: (handle: number) => void (canceled = handle),
  }, (time) => shown.push(time));
  for (const mediaTime of [0, 0.04, 0.08]) next(0, { mediaTime } as VideoFrameCallbackMetadata);
  end();
  expect(shown).toEqual([0, 0.04, 0.08]);
  expect(canceled).toBe(4);
});

test("elsewhere the time of the player stands for it", () => {
  const player = Object.assign(new EventTarget(), { paused: true, currentTime: 1 });
  const shown: number[] = [];
  const pending: (() => void)[] = [];
  Object.assign(globalThis, { requestAnimationFrame: (run: () => void) => pending.push(run), cancelAnimationFrame: () => pending.splice(0) });
  const end = watchFrames(player, (time) => shown.push(time));
  pending.shift()?.();
  expect(shown).toEqual([]);
  player.dispatchEvent(new Event("seeked"));
  Object.assign(player, { paused: false, currentTime: 2 });
  pending.shift()?.();
  expect(shown).toEqual([1, 2]);
  end();
  player.dispatchEvent(new Event("seeked"));
  expect(shown).toEqual([1, 2]);
  expect(pending).toEqual([]);
});
