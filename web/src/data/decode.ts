// Turns records into samples: pictures into bitmaps, arrays into typed arrays.

import { messageOf } from "./errors";
import { withoutOrientation } from "./jpeg";
import type { SampleRecord } from "./records";
import type { Film, Sample } from "./samples";

/** Turns an encoded picture into a bitmap whose longer side has at most `side` pixels; 0: whole. */
export type DecodePicture = (bytes: Uint8Array<ArrayBuffer>, media: string, side: number) =>
  Promise<ImageBitmap>;

/** Pictures above that many pixels are not decoded: a bitmap takes four bytes a pixel. */
export const maxPicturePixels = 1 << 27;

const maxRank = 32;
const maxErrorText = 1000;

const pictureMedia: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/webp"]);

/** Decodes one record; a sample that cannot be decoded becomes kind "error". */
export async function decodeRecord(record: SampleRecord, side: number,
  decodePicture: DecodePicture): Promise<Sample> {
  const { header, body } = record;
  switch (header.kind) {
    case "missing":
      return { kind: "missing" };
    case "large":
      return large(header.size ?? 0, header);
    case "error":
      return errorSample(header.message ?? "the sample cannot be read");
    case "array":
      return sizedArray(decodeArray(header.dtype ?? "", header.shape ?? [], body), record);
    case "text":
      return { kind: "text", text: decodeText(body), whole: header.size === undefined };
    case "json":
      return decodeJson(body);
    case "file":
      return decodeFile(record, side, decodePicture);
    case "video":
      return decodeVideo(record, side, decodePicture);
  }
}

export function errorSample(message: string): Sample {
  return { kind: "error", message: message.slice(0, maxErrorText) };
}

function large(size: number, { width, height }: SampleRecord["header"]): Sample {
  return width && height ? { kind: "large", size, width, height } : { kind: "large", size };
}

/** Notes the whole size of an array that was made smaller. */
function sizedArray(sample: Sample, { header }: SampleRecord): Sample {
  if (sample.kind !== "array" || !header.width || !header.height) return sample;
  return { ...sample, width: header.width, height: header.height };
}

async function decodeFile(record: SampleRecord, side: number,
  decodePicture: DecodePicture): Promise<Sample> {
  const { header, body } = record;
  const media = header.media ?? "";
  if (!pictureMedia.has(media)) return errorSample(`${media || "the file"} is not a picture`);
  if ((header.width ?? 0) * (header.height ?? 0) > maxPicturePixels && side === 0) {
    return large(body.length, header);
  }
  try {
    const bitmap = await decodePicture(body, media, side);
    const width = header.width || bitmap.width;
    const height = header.height || bitmap.height;
    return { kind: "picture", width, height, bitmap };
  } catch (error) {
    const reason = messageOf(error);
    return errorSample(`the picture cannot be decoded: ${reason}`);
  }
}

/** Decodes the picture of a video, if there is one. */
async function decodeVideo(record: SampleRecord, side: number,
  decodePicture: DecodePicture): Promise<Sample> {
  const { codec = "", width = 0, height = 0, frames = 0, seconds = 0, size = 0, message = "" } = record.header;
  const film: Film = { codec, width, height, frames, seconds, bytes: size };
  const bare = (text: string): Sample => ({ kind: "video", film, message: text.slice(0, maxErrorText) });
  if (record.body.length === 0) return bare(message);
  const sample = await decodeFile(record, side, decodePicture);
  return sample.kind === "picture" ? { ...sample, film } : bare(sample.kind === "error" ? sample.message : "");
}

function decodeText(body: Uint8Array): string {
  return new TextDecoder("utf-8").decode(body);
}

function decodeJson(body: Uint8Array): Sample {
  const text = decodeText(body);
  try {
    return { kind: "json", value: JSON.parse(text) as unknown, text };
  } catch {
    // A text that was cut is no JSON, and is still worth showing.
    return { kind: "json", value: undefined, text };
  }
}

type TypedArray = Extract<Sample, { kind: "array" }>["data"];

interface Element {
  bytes: number;
  view(buffer: ArrayBuffer, count: number): TypedArray;
}

const elements: Readonly<Record<string, Element>> = {
  bool: { bytes: 1, view: (buffer, count) => new Uint8Array(buffer, 0, count) },
  uint8: { bytes: 1, view: (buffer, count) => new Uint8Array(buffer, 0, count) },
  int8: { bytes: 1, view: (buffer, count) => new Int8Array(buffer, 0, count) },
  uint16: { bytes: 2, view: (buffer, count) => new Uint16Array(buffer, 0, count) },
  int16: { bytes: 2, view: (buffer, count) => new Int16Array(buffer, 0, count) },
  float16: { bytes: 2, view: (buffer, count) => widen(new Uint16Array(buffer, 0, count)) },
  uint32: { bytes: 4, view: (buffer, count) => new Uint32Array(buffer, 0, count) },
  int32: { bytes: 4, view: (buffer, count) => new Int32Array(buffer, 0, count) },
  float32: { bytes: 4, view: (buffer, count) => new Float32Array(buffer, 0, count) },
  uint64: { bytes: 8, view: (buffer, count) => new BigUint64Array(buffer, 0, count) },
  int64: { bytes: 8, view: (buffer, count) => new BigInt64Array(buffer, 0, count) },
  float64: { bytes: 8, view: (buffer, count) => new Float64Array(buffer, 0, count) },
};

/** Views a body as an array. Takes the body, which starts at the first byte of its buffer. */
export function decodeArray(dtype: string, shape: number[], body: Uint8Array<ArrayBuffer>): Sample {
  const element = Object.hasOwn(elements, dtype) ? elements[dtype] : undefined;
  if (!element) return errorSample(`arrays of ${dtype || "no dtype"} cannot be shown`);
  if (shape.length > maxRank) return errorSample(`an array of ${shape.length} dimensions`);
  const count = product(shape);
  if (count * element.bytes !== body.length) {
    return errorSample(
      `an array of shape (${shape.join(", ")}) and ${dtype} has ${body.length} bytes`);
  }
  const buffer = body.byteOffset === 0 ? body.buffer : body.slice().buffer;
  return { kind: "array", dtype, shape, data: element.view(buffer, count) };
}

/** Returns the product of the sides; Infinity: no double holds it exactly. */
function product(shape: number[]): number {
  let count = 1;
  for (const side of shape) {
    count *= side;
    if (!Number.isSafeInteger(side) || side < 0 || !Number.isSafeInteger(count)) return Infinity;
  }
  return count;
}

/** Returns the number that 16 bits of an IEEE 754 half stand for. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function widen(halves: Uint16Array): Float32Array {
  const wide = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) wide[i] = halfToNumber(halves[i]);
  return wide;
}

/** Returns the bytes that a sample keeps in memory. */
export function sampleBytes(sample: Sample): number {
  const overhead = 256;
  switch (sample.kind) {
    case "picture":
      return overhead + sample.bitmap.width * sample.bitmap.height * 4;
    case "array":
      return overhead + ((sample.data as ArrayLike<number> & { byteLength?: number }).byteLength
        ?? sample.data.length * 8);
    case "text":
      return overhead + sample.text.length * 2;
    case "json":
      // A parsed value takes several times the space of its text.
      return overhead + sample.text.length * 8;
    case "items":
      return sample.items.reduce((sum, item) => sum + (item ? sampleBytes(item) : 8), overhead);
    default:
      return overhead;
  }
}

/**
 * Decodes in the browser. Ignores the orientation in a file's metadata, as the core does, so
 * that annotations fit.
 */
export async function decodeInBrowser(bytes: Uint8Array<ArrayBuffer>, media: string,
  side: number): Promise<ImageBitmap> {
  const parts = media === "image/jpeg" ? withoutOrientation(bytes) : [bytes];
  const bitmap = await bitmapOf(new Blob(parts, { type: media }));
  const longer = Math.max(bitmap.width, bitmap.height);
  if (side === 0 || longer <= side) return bitmap;
  // A thumbnail may be the stored file: pixels that no cell shows are dropped.
  try {
    return await createImageBitmap(bitmap, {
      resizeWidth: Math.max(1, Math.round(bitmap.width * side / longer)),
      resizeHeight: Math.max(1, Math.round(bitmap.height * side / longer)),
      resizeQuality: "medium",
    });
  } finally {
    bitmap.close();
  }
}

let takesNone = true;

async function bitmapOf(blob: Blob): Promise<ImageBitmap> {
  if (takesNone) {
    try {
      return await createImageBitmap(blob,
        { imageOrientation: "none", colorSpaceConversion: "none" });
    } catch (error) {
      // Newer browsers do not know the value; a damaged file fails again below.
      if (!(error instanceof TypeError)) throw error;
      takesNone = false;
    }
  }
  return createImageBitmap(blob, { colorSpaceConversion: "none" });
}
