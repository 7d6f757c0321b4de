import { expect, test } from "vitest";
import type { Sample } from "../../data/samples";
import { tensorOf } from "../../data/testing";
import { formatDuration } from "../format";
import { messageOf } from "./cells";

test("a cell gives the size of a huge picture, and a way to it", () => {
  const huge: Sample = { kind: "large", size: 900_000_000, width: 20_000, height: 15_000 };
  expect(messageOf(huge)).toBe("900 MB, no thumbnail: open it, or store it with downsample=");
  expect(messageOf({ kind: "large", size: 900_000_000 })).toBe("900 MB, too large to show");
});

test("a cell without a picture of a video gives its facts, or its size", () => {
  const film = { codec: "h264", width: 96, height: 64, frames: 48, seconds: 65, bytes: 5000 };
  expect(messageOf({ kind: "video", film, message: "" })).toBe("▶ h264, 96 × 64, 1:05, 5.00 kB");
  expect(messageOf({ kind: "video", film, message: "no FFmpeg" })).toBe("▶ h264, 96 × 64, 1:05, 5.00 kB: no FFmpeg");
  expect(messageOf({ kind: "large", size: 5000 }, tensorOf("film", "video"))).toBe("▶ video, 5.00 kB");
});

test.each([[0, "0 s"], [0.42, "0.4 s"], [1, "1 s"], [1.62, "1.6 s"], [9.94, "9.9 s"], [9.96, "0:09"], [59.9, "0:59"], [65, "1:05"], [3600, "1:00:00"], [36_061, "10:01:01"], [NaN, "0 s"], [-1, "0 s"]])(
  "%d seconds are %s", (seconds, text) => expect(formatDuration(seconds)).toBe(text));
