// Parses the record stream of api/samples: see "Records" in PROTOCOL.md.

import type { Header } from "./protocol";

export interface SampleRecord {
  header: Header;
  /** Owns its buffer and starts at its first byte, so that typed arrays may view it. */
  body: Uint8Array<ArrayBuffer>;
}

/** The stream breaks the format; nothing after the fault can be read. */
export class RecordError extends Error {
  override name = "RecordError";
}

export const maxHeader = 1 << 20;
export const maxBody = 512 * (1 << 20);

const magic = 0x31534c44; // "DLS1", little-endian
const prefixBytes = 16;
const firstBuffer = 1 << 16;
const maxRank = 64;

const kinds: ReadonlySet<string> = new Set(
  ["file", "array", "text", "json", "missing", "error", "large", "video"]);

/** Collects a declared number of bytes; memory grows with the received bytes, not the declared. */
class Section {
  private buffer = new Uint8Array(0);
  private have = 0;
  private need = 0;

  start(need: number): void {
    this.need = need;
    this.have = 0;
    this.buffer = new Uint8Array(Math.min(need, firstBuffer));
  }

  get full(): boolean {
    return this.have === this.need;
  }

  /** Takes bytes from `at` on and returns how many it took. */
  take(chunk: Uint8Array, at: number): number {
    const count = Math.min(this.need - this.have, chunk.length - at);
    if (this.have + count > this.buffer.length) {
      const size = Math.min(this.need, Math.max(this.have + count, 2 * this.buffer.length));
      const grown = new Uint8Array(size);
      grown.set(this.buffer.subarray(0, this.have));
      this.buffer = grown;
    }
    this.buffer.set(chunk.subarray(at, at + count), this.have);
    this.have += count;
    return count;
  }

  /** Returns the collected bytes, and gives them up. */
  release(): Uint8Array<ArrayBuffer> {
    const bytes = this.buffer;
    this.buffer = new Uint8Array(0);
    return bytes;
  }
}

type State = "prefix" | "header" | "body" | "padding" | "ended" | "failed";

/** Feeds on pieces of a stream that is cut at any place. */
export class RecordParser {
  private state: State = "prefix";
  private readonly section = new Section();
  private header: Header | undefined;
  private bodyBytes = 0;
  private padding = 0;
  private offset = 0;

  constructor() {
    this.section.start(prefixBytes);
  }

  /** Reports whether the end record came. */
  get ended(): boolean {
    return this.state === "ended";
  }

  /** Calls back for each record that the chunk completes. Throws RecordError. */
  push(chunk: Uint8Array, onRecord: (record: SampleRecord) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.state === "ended") this.fail("bytes follow the end record");
      if (this.state === "failed") throw new RecordError("the stream is broken");
      if (this.state === "padding") {
        const skipped = Math.min(this.padding, chunk.length - at);
        this.padding -= skipped;
        at += skipped;
        this.offset += skipped;
        if (this.padding === 0) this.expectPrefix();
        continue;
      }
      const taken = this.section.take(chunk, at);
      at += taken;
      this.offset += taken;
      if (this.section.full) this.complete(onRecord);
    }
  }

  /** States that no more bytes come. Throws RecordError if the end record is missing. */
  end(): void {
    if (this.state !== "ended") this.fail("the answer was cut off");
  }

  private complete(onRecord: (record: SampleRecord) => void): void {
    if (this.state === "prefix") {
      this.readPrefix(this.section.release());
    } else if (this.state === "header") {
      this.header = this.readHeader(this.section.release());
      this.state = "body";
      this.section.start(this.bodyBytes);
      if (this.bodyBytes === 0) this.emit(onRecord);
    } else {
      this.emit(onRecord);
    }
  }

  private emit(onRecord: (record: SampleRecord) => void): void {
    const header = this.header as Header;
    const body = this.section.release();
    this.header = undefined;
    if (header.end) {
      if (this.bodyBytes > 0) this.fail("the end record has a body");
      this.state = "ended";
      return;
    }
    this.padding = (8 - (this.bodyBytes % 8)) % 8;
    if (this.padding > 0) this.state = "padding";
    else this.expectPrefix();
    onRecord({ header, body });
  }

  private expectPrefix(): void {
    this.state = "prefix";
    this.section.start(prefixBytes);
  }

  private readPrefix(bytes: Uint8Array<ArrayBuffer>): void {
    const view = new DataView(bytes.buffer);
    if (view.getUint32(0, true) !== magic) this.fail("a record does not start with DLS1");
    const header = view.getUint32(4, true);
    const body = view.getUint32(8, true) + view.getUint32(12, true) * 2 ** 32;
    if (header === 0 || header > maxHeader) this.fail(`a header of ${header} bytes is out of bounds`);
    if (header % 8 !== 0) this.fail(`a header of ${header} bytes is not a multiple of 8`);
    if (body > maxBody) this.fail(`a body of ${body} bytes is out of bounds`);
    this.bodyBytes = body;
    this.state = "header";
    this.section.start(header);
  }

  private readHeader(bytes: Uint8Array): Header {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      return this.fail("a header is not JSON");
    }
    const problem = checkHeader(value);
    if (problem !== "") this.fail(problem);
    return value as Header;
  }

  private fail(problem: string): never {
    this.state = "failed";
    this.section.release();
    throw new RecordError(`samples, near byte ${this.offset}: ${problem}`);
  }
}

/** Returns the fault of a header; "": it has none. */
export function checkHeader(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return "a header is not an object";
  }
  const header = value as Record<string, unknown>;
  if (header.end === true) return "";
  if (header.end !== undefined) return "header: end is not true";
  if (!isCount(header.row)) return "header: row is not a whole number";
  if (header.index !== -1 && !isCount(header.index)) return "header: index is not a row, nor -1";
  for (const name of ["item", "items", "width", "height", "size", "frames"]) {
    if (header[name] !== undefined && !isCount(header[name])) {
      return `header: ${name} is not a whole number`;
    }
  }
  if (typeof header.column !== "string") return "header: column is not a string";
  if (typeof header.kind !== "string" || !kinds.has(header.kind)) return "header: unknown kind";
  for (const name of ["media", "dtype", "codec", "message", "reason"]) {
    if (header[name] !== undefined && typeof header[name] !== "string") {
      return `header: ${name} is not a string`;
    }
  }
  if (header.seconds !== undefined && typeof header.seconds !== "number") return "header: seconds is not a number";
  return checkRegion(header.region) || checkShape(header.shape);
}

function checkRegion(region: unknown): string {
  if (region === undefined) return "";
  if (!Array.isArray(region) || region.length !== 4 || !region.every(isCount)) {
    return "header: region is not four whole numbers";
  }
  const [top, left, bottom, right] = region;
  return top < bottom && left < right ? "" : "header: region is empty";
}

function checkShape(shape: unknown): string {
  if (shape === undefined) return "";
  if (!Array.isArray(shape) || !shape.every(isCount)) return "header: shape is not whole numbers";
  return shape.length > maxRank ? `header: shape has ${shape.length} dimensions` : "";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
