import { expect, test } from "vitest";
import type { Sample } from "../../data/samples";
import { messageOf } from "./cells";

test("a cell gives the size of a huge picture, and a way to it", () => {
  const huge: Sample = { kind: "large", size: 900_000_000, width: 20_000, height: 15_000 };
  expect(messageOf(huge)).toBe("900 MB, no thumbnail: open it, or store it with downsample=");
  expect(messageOf({ kind: "large", size: 900_000_000 })).toBe("900 MB, too large to show");
});
