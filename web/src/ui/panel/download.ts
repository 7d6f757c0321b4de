// Turns a record into a file: stored files unchanged, arrays as .npy.

import { mediaOf } from "../../data/media";
import type { SampleRecord } from "../../data/records";

export interface DownloadFile {
  name: string;
  media: string;
  parts: BlobPart[];
}

const endings: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg", "image/png": "png", "image/webp": "webp",
  "video/mp4": "mp4", "video/quicktime": "mov", "video/webm": "webm", "video/x-matroska": "mkv",
};

const npyTypes: Readonly<Record<string, string>> = {
  bool: "|b1", uint8: "|u1", int8: "|i1", uint16: "<u2", int16: "<i2", uint32: "<u4", int32: "<i4",
  uint64: "<u8", int64: "<i8", float16: "<f2", float32: "<f4", float64: "<f8", complex64: "<c8",
  complex128: "<c16",
};

/** Returns the file of a record; null: there is nothing to store. */
export function fileOf({ header, body }: SampleRecord): DownloadFile | null {
  const item = header.item === undefined ? "" : `-${header.item}`;
  const base = `${header.column.replace(/[^\p{L}\p{N}_-]+/gu, "-")}-${header.index}${item}`;
  if (header.kind === "file") {
    const media = header.media ?? mediaOf(body);
    if (!Object.hasOwn(endings, media)) return { name: `${base}.bin`, media: "application/octet-stream", parts: [body] };
    return { name: `${base}.${endings[media]}`, media, parts: [body] };
  }
  if (header.kind === "text") return { name: `${base}.txt`, media: "text/plain", parts: [body] };
  if (header.kind === "json") return { name: `${base}.json`, media: "application/json", parts: [body] };
  if (header.kind !== "array" || !Object.hasOwn(npyTypes, header.dtype ?? "")) return null;
  const head = npyHeader(header.dtype ?? "", header.shape ?? []);
  return { name: `${base}.npy`, media: "application/octet-stream", parts: [head, body] };
}

/** Returns the head of a .npy file, version 1.0. */
export function npyHeader(dtype: string, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const sides = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${npyTypes[dtype]}', 'fortran_order': False, 'shape': (${sides}), }`;
  const fixed = 10;
  const length = Math.ceil((fixed + text.length + 1) / 64) * 64 - fixed;
  const head = new Uint8Array(fixed + length);
  head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, length >> 8]);
  head.set(new TextEncoder().encode(text.padEnd(length - 1) + "\n"), fixed);
  return head;
}

/** Lets the browser save the file at an address. */
export function saveFrom(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

export function save(file: DownloadFile): void {
  const url = URL.createObjectURL(new Blob(file.parts, { type: file.media }));
  saveFrom(url, file.name);
  // Some browsers read the address after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
