import { expect, test } from "vitest";
import { decodeArray, decodeRecord, halfToNumber, sampleBytes } from "./decode";
import { withoutOrientation } from "./jpeg";
import type { Header } from "./protocol";
import type { Sample } from "./samples";
import { concat } from "./testing";

const bytesOf = (view: ArrayBufferView): Uint8Array<ArrayBuffer> =>
  new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength).slice();

function dataOf(sample: Sample): unknown[] {
  if (sample.kind !== "array") throw new Error(JSON.stringify(sample));
  return Array.from(sample.data as ArrayLike<unknown>);
}

test.each([
  ["bool", Uint8Array.of(0, 1), [0, 1]],
  ["uint8", Uint8Array.of(0, 255), [0, 255]],
  ["int8", Int8Array.of(-128, 127), [-128, 127]],
  ["uint16", Uint16Array.of(0, 65535), [0, 65535]],
  ["int16", Int16Array.of(-32768, 1), [-32768, 1]],
  ["uint32", Uint32Array.of(0, 2 ** 32 - 1), [0, 2 ** 32 - 1]],
  ["int32", Int32Array.of(-(2 ** 31), 7), [-(2 ** 31), 7]],
  ["int64", BigInt64Array.of(-1n, 2n ** 62n), [-1n, 2n ** 62n]],
  ["uint64", BigUint64Array.of(0n, 2n ** 64n - 1n), [0n, 2n ** 64n - 1n]],
  ["float16", Uint16Array.of(0x3c00, 0xfc00), [1, -Infinity]],
  ["float32", Float32Array.of(0.5, NaN), [0.5, NaN]],
  ["float64", Float64Array.of(Math.PI, -0), [Math.PI, -0]],
])("arrays of %s", (dtype, data, numbers) => {
  expect(dataOf(decodeArray(dtype, [2], bytesOf(data)))).toEqual(numbers);
});

test.each([
  ["complex64", [1], 8, "cannot be shown"],
  ["toString", [1], 8, "cannot be shown"],
  ["__proto__", [1], 8, "cannot be shown"],
  ["", [], 0, "no dtype"],
  ["uint8", [3], 2, "has 2 bytes"],
  ["uint8", [2 ** 40, 2 ** 40], 2, "has 2 bytes"],
  ["uint16", [2 ** 52, 2 ** 52, 0.5], 2, "has 2 bytes"],
  ["uint8", new Array<number>(33).fill(1), 1, "33 dimensions"],
])("no array: %s %j in %i bytes", (dtype, shape, size, message) => {
  const sample = decodeArray(dtype, shape, new Uint8Array(size));
  expect(sample).toMatchObject({ kind: "error", message: expect.stringContaining(message) as string });
});

test.each([[[0, 4]], [[2 ** 53 - 1, 0]]])("an empty array of shape %j", (shape) => {
  expect(decodeArray("float32", shape, new Uint8Array(0))).toMatchObject({ kind: "array", shape });
});

test("a body within a larger buffer is copied before it is viewed", () => {
  const bytes = new Uint8Array(new ArrayBuffer(12), 4, 8);
  expect(dataOf(decodeArray("float64", [1], bytes))).toEqual([0]);
});

test.each([
  [0x0000, 0], [0x8000, -0], [0x0001, 2 ** -24], [0x03ff, 1023 * 2 ** -24], [0x0400, 2 ** -14],
  [0x3555, 0.333251953125], [0x7bff, 65504], [0x7c00, Infinity], [0x7e00, NaN],
])("half %i is %d", (bits, value) => {
  expect(halfToNumber(bits)).toBe(value);
});

const bitmap = (width: number, height: number): ImageBitmap =>
  ({ width, height, close: () => undefined });

const decode = (header: Partial<Header>, body = new Uint8Array(0), side = 0): Promise<Sample> =>
  decodeRecord({ header: { row: 0, index: 0, column: "x", kind: "file", ...header }, body }, side,
    () => Promise.resolve(bitmap(10, 5)));

test("pictures have the size of the whole, of which the file may be a part", async () => {
  expect(await decode({ media: "image/jpeg", width: 100, height: 50 }))
    .toMatchObject({ kind: "picture", width: 100, height: 50 });
  expect(await decode({ media: "image/png" })).toMatchObject({ width: 10, height: 5 });
});

test("files that are no pictures, too large, or broken", async () => {
  expect(await decode({ media: "text/html" })).toMatchObject({ kind: "error" });
  expect(await decode({})).toMatchObject({ kind: "error" });
  const huge = { media: "image/png", width: 2 ** 20, height: 2 ** 20 };
  expect(await decode(huge)).toMatchObject({ kind: "large" });
  expect(await decode(huge, new Uint8Array(0), 64)).toMatchObject({ kind: "picture" });
  const header: Header = { row: 0, index: 0, column: "x", kind: "file", media: "image/png" };
  const broken = await decodeRecord({ header, body: new Uint8Array(1) }, 0,
    () => Promise.reject(new Error("bad bits")));
  expect(broken).toMatchObject({ kind: "error", message: "the picture cannot be decoded: bad bits" });
});

test("texts, json and the rest", async () => {
  const text = (value: string): Uint8Array<ArrayBuffer> => bytesOf(new TextEncoder().encode(value));
  expect(await decode({ kind: "text" }, text("hé"))).toEqual({ kind: "text", text: "hé", whole: true });
  expect(await decode({ kind: "text", size: 9 }, text("h"))).toMatchObject({ whole: false });
  expect(await decode({ kind: "json" }, text('{"a":[1]}'))).toMatchObject({ value: { a: [1] } });
  expect(await decode({ kind: "json", size: 99 }, text('{"a":['))).toEqual(
    { kind: "json", value: undefined, text: '{"a":[' });
  expect(await decode({ kind: "missing" })).toEqual({ kind: "missing" });
  expect(await decode({ kind: "large", size: 5 })).toEqual({ kind: "large", size: 5 });
  const long = await decode({ kind: "error", message: "x".repeat(1e5) });
  expect((long as { message: string }).message.length).toBe(1000);
  const small: Partial<Header> = { kind: "array", dtype: "uint8", shape: [1, 2], width: 20, height: 10 };
  expect(await decode(small, new Uint8Array(2))).toMatchObject({ width: 20, height: 10 });
});

test("bytes of samples", () => {
  const picture: Sample = { kind: "picture", width: 100, height: 100, bitmap: bitmap(10, 5) };
  expect(sampleBytes(picture)).toBe(256 + 200);
  expect(sampleBytes({ kind: "items", count: 9, items: [picture, undefined] })).toBe(256 + 456 + 8);
  expect(sampleBytes({ kind: "array", dtype: "int64", shape: [2], data: new BigInt64Array(2) }))
    .toBe(272);
});

test("Exif segments are left out of JPEG files, and nothing else", () => {
  const segment = (marker: number, body: number[]): Uint8Array =>
    Uint8Array.of(0xff, marker, 0, body.length + 2, ...body);
  const exif = segment(0xe1, [0x45, 0x78, 0x69, 0x66, 0, 0, 1, 2, 3]);
  const start = Uint8Array.of(0xff, 0xd8);
  const jfif = segment(0xe0, [1, 2, 3]);
  const xmp = segment(0xe1, [0x68, 0x74, 0x74, 0x70]);
  const scan = concat([segment(0xda, [1]), exif, Uint8Array.of(0xff, 0xd9)]);
  const whole = concat([start, jfif, exif, xmp, exif, scan]);
  expect(concat(withoutOrientation(whole))).toEqual(concat([start, jfif, xmp, scan]));
  for (let end = 0; end <= whole.length; end++) {
    expect(concat(withoutOrientation(whole.slice(0, end))).length).toBeLessThanOrEqual(end);
  }
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
  expect(withoutOrientation(png)).toEqual([png]);
});

const filmHeader: Header = {
  row: 0, index: 0, column: "film", kind: "video", codec: "h264", width: 96, height: 64, frames: 48, seconds: 2, size: 5000,
};
const film = { codec: "h264", width: 96, height: 64, frames: 48, seconds: 2, bytes: 5000 };

test("a video comes with a picture, without one, and with one that is damaged", async () => {
  const bitmap = { width: 48, height: 32 } as ImageBitmap;
  const body = Uint8Array.of(1);
  const media = "image/jpeg";
  expect(await decodeRecord({ header: { ...filmHeader, media }, body }, 48, () => Promise.resolve(bitmap)))
    .toEqual({ kind: "picture", width: 96, height: 64, bitmap, film });
  const none = () => Promise.reject(new Error("no JPEG"));
  expect(await decodeRecord({ header: { ...filmHeader, message: "no FFmpeg" }, body: new Uint8Array(0) }, 48, none))
    .toEqual({ kind: "video", film, message: "no FFmpeg" });
  expect(await decodeRecord({ header: { ...filmHeader, media }, body }, 48, none))
    .toEqual({ kind: "video", film, message: "the picture cannot be decoded: no JPEG" });
});
