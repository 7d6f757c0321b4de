// The samples of one view: requests the wanted ones, decodes them, caches them within a bound.

import {
  Cells, type Column, type Entry, maxItems, type Need, satisfied, touch, underway, widen,
} from "./cells";
import type { Client, SamplesRequest } from "./client";
import {
  type DecodePicture, decodeInBrowser, decodeRecord, errorSample,
} from "./decode";
import { messageOf } from "./errors";
import type { View } from "./protocol";
import type { SampleRecord } from "./records";
import { readRegion } from "./region";
import type { PartOfPicture, RegionWant, Sample, SampleStore, Want } from "./samples";

export interface StoreOptions {
  /** Bound of decoded data; samples that are wanted now are kept beyond it. */
  bytes?: number;
  decode?: DecodePicture;
  /** Milliseconds. */
  now?: () => number;
  /** Runs a function later; returns a function that prevents it. */
  after?: (milliseconds: number, run: () => void) => () => void;
}

const maxFlights = 4;
const maxDecodes = 4;
const maxRowsOfRequest = 128;
const pixelsOfRequest = 1 << 21;
const firstRetry = 1000;
const lastRetry = 60_000;
const defaultBytes = 96 * (1 << 20);

/** Samples of a view from the server. */
export function openStore(client: Pick<Client, "samples">, view: View,
  options: StoreOptions = {}): SampleStore {
  return new Store(client, view, options);
}

/** One request on its way. */
interface Flight {
  abort: AbortController;
  parts: Map<Entry, Part>;
  decoding: number;
  /** The response ended. */
  received: boolean;
  error: unknown;
}

interface Part {
  need: Need;
  /** Items of a list as they come. */
  list: Map<number, Sample>;
  /** The sample was out of sight when it came, and was not decoded. */
  skipped: boolean;
}

interface Load {
  entry: Entry;
  need: Need;
  want: Want[];
  resolve(sample: Sample): void;
  reject(reason: unknown): void;
}

class Store implements SampleStore {
  private readonly cells: Cells;
  private readonly wants = new Map<string, Want[]>();
  private readonly loads = new Set<Load>();
  private readonly flights = new Set<Flight>();
  private readonly decodes: (() => Promise<void>)[] = [];
  private decoding = 0;
  private readonly listeners = new Set<() => void>();
  private readonly indexes = new Map<number, number>();
  private readonly now: () => number;
  private readonly after: (milliseconds: number, run: () => void) => () => void;
  private readonly decode: DecodePicture;
  private turn = 0;
  private marked: Entry[] = [];
  private before: Entry[] = [];
  private flushing = false;
  private notifying = false;
  private cancelRetry: (() => void) | undefined;
  private closed = false;

  constructor(private readonly client: Pick<Client, "samples">, readonly view: View,
    options: StoreOptions) {
    this.cells = new Cells(view.tensors, options.bytes ?? defaultBytes);
    this.decode = options.decode ?? decodeInBrowser;
    this.now = options.now ?? (() => performance.now());
    this.after = options.after ?? ((milliseconds, run) => {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    });
  }

  peek(row: number, column: string): Sample | undefined {
    return this.cells.peek(row, column);
  }

  index(row: number): number | undefined {
    return this.indexes.get(row);
  }

  want(wants: Want[], owner: string): void {
    if (this.closed) return;
    // The owner of the last call is served first.
    this.wants.delete(owner);
    if (wants.length > 0) this.wants.set(owner, wants);
    this.flushLater();
  }

  load(row: number, name: string, signal?: AbortSignal): Promise<Sample> {
    const column = this.cells.columns.get(name);
    if (this.closed) return Promise.reject(aborted());
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!column || !this.hasRow(row)) {
      return Promise.resolve(errorSample(`there is no row ${row} of ${name}`));
    }
    const entry = this.cells.entry(column, row);
    entry.failure = undefined;
    const want = { name, pixels: 0, items: [0, maxItems] as [number, number] };
    const need = needOf(column, want);
    return new Promise((resolve, reject) => {
      const load: Load = { entry, need, want: [{ rows: [row], columns: [want] }], resolve, reject };
      this.loads.add(load);
      signal?.addEventListener("abort", () => {
        if (this.loads.delete(load)) reject(signal.reason);
        this.flushLater();
      }, { once: true });
      this.flushLater();
    });
  }

  region(want: RegionWant, signal: AbortSignal): Promise<PartOfPicture> {
    if (this.closed) return Promise.reject(aborted());
    return readRegion(this.client, this.view.view, want, this.decode, signal);
  }

  subscribe(changed: () => void): () => void {
    this.listeners.add(changed);
    return () => void this.listeners.delete(changed);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.wants.clear();
    for (const flight of this.flights) flight.abort.abort();
    this.flights.clear();
    this.decodes.length = 0;
    this.cancelRetry?.();
    for (const load of this.loads) load.reject(aborted());
    this.loads.clear();
    this.listeners.clear();
    this.cells.clear();
  }

  private hasRow(row: number): boolean {
    return Number.isSafeInteger(row) && row >= 0 && row < this.view.rows;
  }

  // Requests.

  private flushLater(): void {
    if (this.flushing || this.closed) return;
    this.flushing = true;
    queueMicrotask(() => {
      this.flushing = false;
      if (!this.closed) this.flush();
    });
  }

  /** Starts and cancels requests so that they match the wanted samples. */
  private flush(): void {
    this.turn++;
    this.settleLoads();
    const wants = this.allWants();
    for (const want of wants) this.each(want, (entry, need) => this.mark(entry, need));
    this.leave();
    for (const flight of this.flights) {
      if (!this.stillWanted(flight)) this.drop(flight);
    }
    let retryAt = Infinity;
    for (const want of wants) {
      if (this.flights.size >= maxFlights) break;
      retryAt = Math.min(retryAt, this.request(want));
    }
    this.retryLater(retryAt);
    this.cells.evict(this.turn);
  }

  /** Puts loads first, since panels wait for a single sample; then the owner of the last call. */
  private allWants(): Want[] {
    const wants: Want[] = [];
    for (const load of this.loads) wants.push(...load.want);
    for (const owned of [...this.wants.values()].reverse()) wants.push(...owned);
    return wants;
  }

  private each(want: Want, visit: (entry: Entry, need: Need) => void): void {
    const columns: { column: Column; need: Need }[] = [];
    for (const wanted of want.columns) {
      const column = this.cells.columns.get(wanted.name);
      if (column) columns.push({ column, need: needOf(column, wanted) });
    }
    for (const row of want.rows) {
      if (!this.hasRow(row)) continue;
      for (const { column, need } of columns) visit(this.cells.entry(column, row), need);
    }
  }

  private mark(entry: Entry, need: Need): void {
    if (entry.wanted === this.turn) {
      widen(entry.need, need);
      return;
    }
    entry.wanted = this.turn;
    entry.need = { ...need };
    this.marked.push(entry);
  }

  /** Marks the wanted samples, and drops entries that are no longer wanted and hold nothing. */
  private leave(): void {
    for (const entry of this.marked) touch(entry, this.turn);
    for (const entry of this.before) {
      if (entry.wanted === this.turn) continue;
      // A failure is remembered with its time, so that scrolling does not repeat the request.
      this.cells.forget(entry);
    }
    this.before = this.marked;
    this.marked = [];
  }

  private stillWanted(flight: Flight): boolean {
    for (const entry of flight.parts.keys()) if (entry.wanted === this.turn) return true;
    return false;
  }

  private drop(flight: Flight): void {
    this.flights.delete(flight);
    this.release(flight);
    flight.abort.abort();
  }

  private release(flight: Flight): void {
    for (const [entry, part] of flight.parts) {
      const at = entry.pending.indexOf(part.need);
      if (at >= 0) entry.pending.splice(at, 1);
    }
  }

  /** Sends requests for the missing samples; returns the time at which to repeat a failed one. */
  private request(want: Want): number {
    const batches = new Map<string, Entry[][]>();
    let retryAt = Infinity;
    let lacking: Entry[] = [];
    let row = -1;
    const endRow = (): void => {
      if (lacking.length > 0) this.collect(batches, lacking);
      lacking = [];
    };
    this.each(want, (entry) => {
      if (entry.row !== row) endRow();
      row = entry.row;
      if (entry.visited === this.turn || this.flights.size >= maxFlights) return;
      entry.visited = this.turn;
      if (satisfied(entry, entry.need) || underway(entry, entry.need)) return;
      if (entry.failure && entry.failure.retryAt > this.now()) {
        retryAt = Math.min(retryAt, entry.failure.retryAt);
        return;
      }
      lacking.push(entry);
    });
    endRow();
    for (const rows of batches.values()) if (rows.length > 0) this.send(rows);
    return retryAt;
  }

  /** Puts a row with the rows that lack the same samples, and sends them once they are enough. */
  private collect(batches: Map<string, Entry[][]>, lacking: Entry[]): void {
    const key = lacking.map((entry) =>
      `${entry.column.name}\0${entry.need.pixels}\0${entry.need.from}\0${entry.need.to}`).join("\n");
    const rows = batches.get(key) ?? [];
    rows.push(lacking);
    batches.set(key, rows);
    if (rows.length >= rowsOfRequest(lacking)) {
      this.send(rows);
      batches.set(key, []);
    }
  }

  private send(rows: Entry[][]): void {
    if (this.flights.size >= maxFlights) return;
    const flight: Flight = {
      abort: new AbortController(), parts: new Map(), decoding: 0, received: false,
      error: undefined,
    };
    for (const entry of rows.flat()) {
      const need = { ...entry.need };
      entry.pending.push(need);
      flight.parts.set(entry, { need, list: new Map(), skipped: false });
    }
    this.flights.add(flight);
    const request: SamplesRequest = {
      view: this.view.view,
      rows: rows.map((entries) => entries[0].row),
      columns: rows[0].map(columnRequest),
    };
    this.client.samples(request, (record) => this.receive(flight, record), flight.abort.signal)
      .catch((error: unknown) => void (flight.error = error ?? new Error("the request failed")))
      .finally(() => {
        flight.received = true;
        this.finish(flight);
      });
  }

  // Responses.

  private receive(flight: Flight, record: SampleRecord): void {
    const { header } = record;
    const entry = this.cells.columns.get(header.column)?.entries.get(header.row);
    const part = entry && flight.parts.get(entry);
    if (!entry || !part || !this.flights.has(flight)) return;
    if (header.index >= 0) this.indexes.set(header.row, header.index);
    // The rest of a request goes on for other rows: this one is out of sight by now.
    if (entry.wanted !== this.turn) {
      part.skipped = true;
      return;
    }
    flight.decoding++;
    const side = entry.column.sized && part.need.pixels !== Infinity ? part.need.pixels : 0;
    this.decodes.push(async () => {
      const sample = flight.abort.signal.aborted ? undefined
        : await decodeRecord(record, side, this.decode);
      flight.decoding--;
      if (this.closed || flight.abort.signal.aborted) {
        if (sample?.kind === "picture") sample.bitmap.close();
      } else if (sample) {
        this.place(entry, part, record, sample);
      }
      this.finish(flight);
    });
    this.pump();
  }

  /** Decodes a few pictures at a time; others wait. */
  private pump(): void {
    while (this.decoding < maxDecodes) {
      const next = this.decodes.shift();
      if (!next) return;
      this.decoding++;
      void next().finally(() => {
        this.decoding--;
        this.pump();
      });
    }
  }

  private place(entry: Entry, part: Part, record: SampleRecord, sample: Sample): void {
    const { item, items } = record.header;
    const pixels = part.need.pixels;
    if (entry.column.form === "list" && items !== undefined) {
      if (items > maxItems) {
        this.cells.place(entry, 0, { kind: "large", size: 0 }, pixels);
      } else if (items > 0) {
        if ((item ?? 0) < items) part.list.set(item ?? 0, sample);
        if (part.list.size < items) return;
        const list: Sample[] = [];
        for (const [at, one] of part.list) list[at] = one;
        this.cells.place(entry, 0, { kind: "items", count: items, items: list }, pixels);
      } else {
        this.cells.place(entry, 0, { kind: "items", count: 0, items: [] }, pixels);
      }
    } else if (entry.column.form === "sequence") {
      entry.count = items ?? Math.max(entry.count, 1);
      entry.joined = undefined;
      // Without an item the record states the count alone.
      const counts = items !== undefined && item === undefined && record.header.kind === "array";
      if (!counts) this.cells.place(entry, item ?? 0, sample, pixels);
    } else {
      this.cells.place(entry, 0, sample, pixels);
    }
    entry.failure = undefined;
    this.notifyLater();
  }

  /** Ends a request once its response is read and decoded. */
  private finish(flight: Flight): void {
    if (!flight.received || flight.decoding > 0 || !this.flights.delete(flight)) return;
    this.release(flight);
    const message = flight.error === undefined ? "the server did not send the sample" : messageOf(flight.error);
    for (const [entry, part] of flight.parts) {
      if (!part.skipped && !satisfied(entry, part.need)) this.fail(entry, part.need, message);
    }
    this.notifyLater();
    this.flushLater();
  }

  private fail(entry: Entry, need: Need, message: string): void {
    const tries = (entry.failure?.tries ?? 0) + 1;
    const wait = Math.min(lastRetry, firstRetry * 2 ** (tries - 1));
    const sample = errorSample(message);
    entry.failure = { tries, retryAt: this.now() + wait, sample };
    const end = Math.min(need.to, Math.max(entry.count, 0), need.from + 1000);
    for (let item = need.from; item < end; item++) this.cells.placeFailure(entry, item, sample);
  }

  private retryLater(time: number): void {
    this.cancelRetry?.();
    this.cancelRetry = time === Infinity ? undefined
      : this.after(Math.max(0, time - this.now()) + 1, () => this.flushLater());
  }

  private settleLoads(): void {
    for (const load of this.loads) {
      const { entry, need } = load;
      if (entry.failure) {
        this.loads.delete(load);
        load.resolve(entry.failure.sample);
      } else if (satisfied(entry, need)) {
        this.loads.delete(load);
        for (const cell of entry.cells.values()) cell.held = true;
        load.resolve(this.peek(entry.row, entry.column.name) ?? { kind: "missing" });
      }
    }
  }

  private notifyLater(): void {
    if (this.notifying) return;
    this.notifying = true;
    this.after(0, () => {
      this.notifying = false;
      if (this.closed) return;
      this.settleLoads();
      this.cells.evict(this.turn);
      for (const listener of this.listeners) listener();
    });
  }
}

function needOf(column: Column, want: { pixels: number; items?: [number, number] }): Need {
  const sized = column.sized && want.pixels > 0;
  const pixels = sized ? want.pixels : Infinity;
  if (column.form !== "sequence") return { pixels, from: 0, to: 1 };
  const [from, to] = want.items ?? [0, 1];
  return { pixels, from: Math.max(0, from), to: Math.min(maxItems, to) };
}

function columnRequest(entry: Entry): SamplesRequest["columns"][number] {
  const { pixels, from, to } = entry.need;
  const request: SamplesRequest["columns"][number] = { name: entry.column.name };
  if (pixels !== Infinity) request.pixels = pixels;
  if (entry.column.form === "list") request.items = [0, maxItems];
  else if (entry.column.form === "sequence" && (from !== 0 || to !== 1)) request.items = [from, to];
  return request;
}

/** Requests of large pictures take few rows, so that scrolling cancels them early. */
function rowsOfRequest(entries: Entry[]): number {
  let side = 64;
  let most = maxRowsOfRequest;
  for (const { column, need } of entries) {
    if (column.sized) side = Math.max(side, Math.min(need.pixels, 1024));
    // The server bounds the items of one request.
    if (column.form !== "plain") most = 32;
  }
  return Math.max(4, Math.min(most, Math.floor(pixelsOfRequest / (side * side))));
}

function aborted(): DOMException {
  return new DOMException("the store is closed", "AbortError");
}
