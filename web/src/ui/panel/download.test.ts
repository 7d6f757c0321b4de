import { expect, it } from "vitest";
import { mediaOf } from "../../data/media";
import { fileOf } from "./download";

const bytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(text, (c) => c.charCodeAt(0));

it.each([
  ["\0\0\0\x18ftypisom", "video/mp4", "mp4"], ["\0\0\0\x18ftypqt  ", "video/quicktime", "mov"], ["\0\0\0\x08wide\0", "video/quicktime", "mov"],
  ["\x1aE\xdf\xa3\x9fB\x82\x84webm", "video/webm", "webm"], ["\x1aE\xdf\xa3\x9fB\x82\x88matroska", "video/x-matroska", "mkv"],
  ["<html><script>", "", "bin"], ["", "", "bin"],
])("a file that begins with %j is %s", (head, media, ending) => {
  const body = bytes(head);
  expect(mediaOf(body)).toBe(media);
  const file = fileOf({ header: { row: 0, index: 7, column: "cam/film", kind: "file" }, body });
  expect(file?.name).toBe(`cam-film-7.${ending}`);
  expect(file?.media).toBe(media || "application/octet-stream");
});
