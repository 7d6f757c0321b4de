import { expect, test } from "vitest";
import { randomOf, wholeOf } from "../../data/testing";
import { type Slot, Slots } from "./slots";

test("slots never overlap, and what a turn uses is kept", () => {
  const random = randomOf(1);
  const slots = new Slots<{ id: number }>(256, 2, 3);
  const keys = Array.from({ length: 300 }, (_, id) => ({ id }));
  const held = new Map<{ id: number }, Slot>();
  for (let turn = 0; turn < 300; turn++) {
    slots.begin();
    const used = new Map<{ id: number }, Slot>();
    for (let n = 0; n < 20; n++) {
      const key = keys[wholeOf(random, keys.length)];
      const slot = slots.get(key) ?? slots.take(key, 1 + wholeOf(random, 128));
      if (slot) used.set(key, slot);
    }
    for (const [key, slot] of used) {
      expect(slots.get(key)).toBe(slot);
      expect(slot.x + slot.size).toBeLessThanOrEqual(256);
      expect(slot.page).toBeLessThan(3);
    }
    for (const key of keys) {
      const slot = slots.get(key);
      if (slot) held.set(key, slot);
      else held.delete(key);
    }
    const all = [...held.values()];
    for (let i = 0; i < all.length; i++) {
      for (let j = 0; j < i; j++) expect(overlap(all[i], all[j])).toBe(false);
    }
  }
});

function overlap(a: Slot, b: Slot): boolean {
  return a.page === b.page && a.layer === b.layer && a.x < b.x + b.size && b.x < a.x + a.size
    && a.y < b.y + b.size && b.y < a.y + a.size;
}

test("a full atlas gives nothing in a turn, and takes from the oldest in the next", () => {
  const slots = new Slots<object>(64, 1, 1);
  const keys = Array.from({ length: 5 }, () => ({}));
  slots.begin();
  for (const key of keys.slice(0, 4)) expect(slots.take(key, 32)).toBeDefined();
  expect(slots.take(keys[4], 32)).toBeUndefined();
  slots.begin();
  slots.get(keys[0]);
  expect(slots.take(keys[4], 20)).toMatchObject({ size: 32 });
  expect(slots.get(keys[0])).toBeDefined();
  slots.begin();
  // A larger slot needs the whole layer: all small ones have to go.
  expect(slots.take({}, 64)).toMatchObject({ size: 64, x: 0, y: 0 });
  expect(keys.some((key) => slots.get(key))).toBe(false);
});
