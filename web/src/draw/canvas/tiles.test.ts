import { describe, expect, it } from "vitest";
import type { PartOfPicture, RegionWant } from "../../data/samples";
import { randomOf, wholeOf } from "../../data/testing";
import { boundsOf, hugeSize, keyOf, levelOf, mayBeHuge, tileSide, Tiles, tilesIn } from "./tiles";

const size = { width: 20_000, height: 15_000 };

/** Makes a store whose responses a test gives by hand. */
function rig(bytes?: number) {
  const asked: { want: RegionWant; signal: AbortSignal; answer(): void; fail(): void }[] = [];
  let time = 0;
  const timers = new Map<() => void, number>();
  let changes = 0;
  const tiles = new Tiles({
    region: (want, signal) => new Promise((resolve, reject) => {
      const [top, left, bottom, right] = want.region;
      const sample: PartOfPicture["sample"] = {
        kind: "array", dtype: "uint8", shape: [8, 8, 1], data: new Uint8Array(64),
      };
      asked.push({
        want, signal, fail: () => reject(new Error("no")),
        answer: () => resolve({
          sample, place: { x: left, y: top, width: right - left, height: bottom - top },
        }),
      });
    }),
  }, { row: 3, column: "slide" }, size, () => void changes++,
  {
    now: () => time,
    later: (run, after) => {
      timers.set(run, time + after);
      return () => void timers.delete(run);
    }, ...(bytes === undefined ? {} : { bytes }),
  });
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 6; i++) await Promise.resolve();
  };
  return {
    tiles, asked, settle, changes: () => changes, timers: () => timers.size,
    later: (by: number) => {
      time += by;
      for (const [run, at] of [...timers]) {
        if (at > time) continue;
        timers.delete(run);
        run();
      }
    },
    answerAll: async () => {
      for (let at = 0; at < asked.length; at++) {
        if (!asked[at].signal.aborted) asked[at].answer();
        await settle();
      }
    },
  };
}

const middle = { x: 9000, y: 7000, width: 1000, height: 700 };

describe("levels and tiles", () => {
  it("takes texels about as small as those of the window", () => {
    expect([2, 1, 0.9, 0.5, 0.26, 0.25, 0.04].map(levelOf)).toEqual([0, 0, 0, 1, 1, 2, 4]);
  });

  it("covers a part of the picture, and no tile lies outside of it", () => {
    const random = randomOf(5);
    for (let round = 0; round < 300; round++) {
      const level = wholeOf(random, 6);
      const part = {
        x: wholeOf(random, 26_000) - 3000, y: wholeOf(random, 20_000) - 3000,
        width: 1 + wholeOf(random, 9000), height: 1 + wholeOf(random, 9000),
      };
      const tiles = tilesIn(part, level, size);
      const bounds = tiles.map((tile) => boundsOf(tile, size));
      for (const [top, left, bottom, right] of bounds) {
        expect(top < bottom && left < right && bottom <= size.height && right <= size.width).toBe(true);
        expect(left < part.x + part.width && right > part.x && top < part.y + part.height
          && bottom > part.y).toBe(true);
      }
      const side = tileSide * 2 ** level;
      for (let i = 0; i < 20; i++) {
        const x = part.x + random() * part.width;
        const y = part.y + random() * part.height;
        if (x < 0 || y < 0 || x >= size.width || y >= size.height) continue;
        const key = keyOf({ level, x: Math.floor(x / side), y: Math.floor(y / side) });
        expect(tiles.map(keyOf)).toContain(key);
      }
    }
  });
});

describe("requests", () => {
  it("asks for the coarse picture and the tiles in sight, the middle ones first", async () => {
    const { tiles, asked, answerAll } = rig();
    expect(tiles.look(middle, 1)).toBe(true);
    expect(asked[0].want).toMatchObject({ row: 3, column: "slide", region: [0, 0, 15_000, 20_000], pixels: 2048 });
    expect(asked.length).toBe(4);
    await answerAll();
    const wanted = tilesIn(middle, 0, size);
    expect(asked.slice(1).map(({ want }) => want.region))
      .toEqual(wanted.map((tile) => boundsOf(tile, size)));
    const shown = tiles.shown();
    expect(shown.length).toBe(wanted.length + 1);
    expect(shown[0].place).toEqual({ x: 0, y: 0, ...size });
    expect(tiles.look(middle, 1)).toBe(false);
    expect(asked.length).toBe(wanted.length + 1);
  });

  it("shows the whole picture without tiles", () => {
    const { tiles, asked } = rig();
    tiles.look({ x: 0, y: 0, ...size }, 0.05);
    expect(asked.length).toBe(1);
  });

  it("cancels what leaves the view, and keeps coarser tiles beneath until finer ones come", async () => {
    const { tiles, asked, answerAll, settle } = rig();
    tiles.look(middle, 0.5);
    await answerAll();
    const before = asked.length;
    tiles.look(middle, 1);
    const flying = asked.slice(before);
    expect(flying.length).toBe(4);
    expect(tiles.shown().some(({ place }) => place.width === 1024)).toBe(true);
    tiles.look({ ...middle, x: 100, y: 100 }, 1);
    expect(flying.every(({ signal }) => signal.aborted)).toBe(true);
    flying[0].answer();
    await settle();
    expect(tiles.shown().some(({ place }) => place.width === 512)).toBe(false);
  });

  it("keeps tiles within a bound, but those in sight beyond it", async () => {
    const { tiles, asked, answerAll } = rig(10 * 64);
    for (let x = 0; x < 9000; x += 1000) {
      tiles.look({ ...middle, x }, 1);
      await answerAll();
    }
    expect(tiles.shown().length).toBe(tilesIn({ ...middle, x: 8000 }, 0, size).length + 1);
    const before = asked.length;
    tiles.look({ ...middle, x: 0 }, 1);
    expect(asked.length).toBeGreaterThan(before);
  });

  it("asks again for a failed tile after a while", async () => {
    const { tiles, asked, settle, later, changes } = rig();
    tiles.look({ x: 0, y: 0, ...size }, 0.05);
    asked[0].fail();
    await settle();
    expect(changes()).toBe(1);
    tiles.look(middle, 0.05);
    expect(asked.length).toBe(1);
    later(5000);
    expect(asked.length).toBe(2); // although the view did not move
    asked[1].fail();
    await settle();
    later(5000);
    expect(asked.length).toBe(2);
    later(5000);
    expect(asked.length).toBe(3);
    tiles.close();
    expect(asked[2].signal.aborted).toBe(true);
  });

  it("asks for no failed tile that has left the view, and for none after the end", async () => {
    const { tiles, asked, settle, later, timers } = rig();
    tiles.look(middle, 1);
    asked[0].answer();
    asked[1].fail();
    await settle();
    const before = asked.length;
    tiles.look({ x: 0, y: 0, ...size }, 0.05);
    later(5000);
    expect(asked.length).toBe(before);
    tiles.look(middle, 1);
    asked.at(-1)?.fail();
    await settle();
    expect(timers()).toBe(1);
    tiles.close();
    expect(timers()).toBe(0);
  });
});

it("knows huge pictures", () => {
  expect(hugeSize({ kind: "large", size: 9, width: 9000, height: 8000 })).toEqual({ width: 9000, height: 8000 });
  expect(hugeSize({ kind: "large", size: 9 })).toBeUndefined();
  expect(hugeSize(undefined)).toBeUndefined();
  expect(hugeSize({ kind: "array", dtype: "uint8", shape: [9, 9, 1], data: [], width: 5000, height: 5000 }))
    .toEqual({ width: 5000, height: 5000 });
  expect(mayBeHuge([20_000, 20_000, 3])).toBe(true);
  expect(mayBeHuge([500, 375, 3])).toBe(false);
  expect(mayBeHuge(null)).toBe(false);
});
