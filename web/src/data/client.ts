// Speaks with the server: see PROTOCOL.md.

import { ApiError, messageOf } from "./errors";
import { parseProjection, parseValues, type Projection } from "./points";
import type { Diff, FrameTable, Progress, Stats, Tensor, Versions, Video, View } from "./protocol";
import { RecordError, RecordParser, type SampleRecord } from "./records";

/** Keeps the token of the session. */
export interface TokenStore {
  get(): string | null;
  set(token: string): void;
}

export interface SamplesRequest {
  view: string;
  rows: number[];
  columns: { name: string; pixels?: number; items?: [number, number]; region?: RegionBounds }[];
}

/** Top, left, bottom, right: pixels of the whole picture. */
export type RegionBounds = [number, number, number, number];

/** The version to open; without any, the one that the server was started for. */
export interface OpenRequest {
  at?: string;
  saved?: string;
}

/** Sends a request as fetch() does; the body of each is JSON. */
export type Fetch = (input: string, init: RequestInit & { body: string }) => Promise<Response>;

export interface ClientOptions {
  tokens?: TokenStore;
  fetch?: Fetch;
}

const maxErrorText = 2000;

export class Client {
  /** Called with the id of a view that the server no longer knows. */
  onUnknownView: ((view: string) => void) | undefined;

  private readonly base: string;
  private readonly tokens: TokenStore;
  private readonly fetch: Fetch;

  /** `base`: the address of the page, or "" for paths relative to it. */
  constructor(base: string | URL = "", options: ClientOptions = {}) {
    const text = String(base);
    this.base = text === "" || text.endsWith("/") ? text : text + "/";
    this.tokens = options.tokens ?? sessionTokens();
    this.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** Reports whether there is a token, which the server may still refuse. */
  get entered(): boolean {
    return this.tokens.get() !== null;
  }

  /** Exchanges the one-time key of the link for a token. */
  async enter(key: string, signal?: AbortSignal): Promise<void> {
    const content = await this.ask("enter", { key }, signal);
    const token = (content as { token?: unknown }).token;
    if (typeof token !== "string" || token === "") throw malformed("enter", "no token");
    this.tokens.set(token);
  }

  async open(request: OpenRequest = {}, signal?: AbortSignal): Promise<View> {
    return checkView("open", await this.ask("open", request, signal));
  }

  async query(view: string, text: string, signal?: AbortSignal): Promise<View> {
    return checkView("query", await this.ask("query", { view, text }, signal));
  }

  async explain(view: string, text: string, signal?: AbortSignal): Promise<string> {
    const content = (await this.ask("explain", { view, text }, signal)) as { text?: unknown };
    return typeof content.text === "string" ? content.text : "";
  }

  async close(view: string, signal?: AbortSignal): Promise<void> {
    await this.ask("close", { view }, signal);
  }

  /** Counts all rows, or at most `sample` of them. */
  async stats(view: string, column: string, signal?: AbortSignal, sample = 0): Promise<Stats> {
    const stats = (await this.ask("stats", { view, column, sample }, signal)) as Stats;
    if (!isCount(stats.rows) || typeof stats.kind !== "string") {
      throw malformed("stats", "no rows or kind");
    }
    if (stats.sampled !== undefined && !isCount(stats.sampled)) {
      throw malformed("stats", "sampled is not a whole number");
    }
    stats.exact = list(stats.exact);
    return stats;
  }

  /** Returns the progress of the exact count of a column. */
  async progress(view: string, column: string, signal?: AbortSignal): Promise<Progress> {
    const { done, total } = (await this.ask("progress", { view, column }, signal)) as Progress;
    if (!isCount(done) || !isCount(total) || done > total) throw malformed("progress", "no count");
    return { done, total };
  }

  /** Projects a column of vectors to the points of a map. */
  async project(view: View, column: string, signal?: AbortSignal): Promise<Projection> {
    return this.bytes("project", { view: view.view, column, method: "pca" },
      (bytes) => parseProjection(bytes, view.rows), signal);
  }

  /** Returns a number for every step-th row; NaN: the row has none. */
  async values(view: View, column: string, step: number, signal?: AbortSignal): Promise<Float32Array> {
    return this.bytes("values", { view: view.view, column, step },
      (bytes) => parseValues(bytes, view.rows, step), signal);
  }

  /** Opens a view of some rows of a view. */
  async select(view: string, rows: number[], signal?: AbortSignal): Promise<View> {
    return checkView("select", await this.ask("select", { view, rows }, signal));
  }

  /** Lists branches, tags, saved views, and the commits of a branch; "": that of the first view. */
  async versions(branch = "", signal?: AbortSignal): Promise<Versions> {
    const body = branch === "" ? {} : { branch };
    const content = (await this.ask("versions", body, signal)) as Partial<Versions>;
    return {
      branch: String(content.branch ?? ""),
      branches: list(content.branches),
      tags: list(content.tags),
      saved: list(content.saved),
      commits: list(content.commits).map((commit) => ({ ...commit, parents: list(commit.parents) })),
    };
  }

  async diff(from: string, to: string, signal?: AbortSignal): Promise<Diff> {
    const content = (await this.ask("diff", { from, to }, signal)) as Diff;
    if (typeof content.rows !== "object" || content.rows === null) throw malformed("diff", "no rows");
    return {
      ...content,
      tensors: list(content.tensors),
      changed: list(content.changed).filter(isCount),
      added: list(content.added).filter(isCount),
      removed: list(content.removed).filter(isCount),
    };
  }

  /** Saves a view of the dataset under a name. */
  async save(view: string, name: string, replace: boolean, signal?: AbortSignal): Promise<void> {
    await this.ask("save", { view, name, replace }, signal);
  }

  /** Describes a video, and gets an address of its file for a player. */
  async video(view: string, row: number, column: string, signal?: AbortSignal): Promise<Video> {
    const video = (await this.ask("video", { view, row, column }, signal)) as Video;
    if (typeof video.url !== "string" || !/^api\/video\/[\w-]+$/.test(video.url)) throw malformed("video", "no address");
    if (!isCount(video.frames) || !isCount(video.bytes)) throw malformed("video", "no frames or bytes");
    return { ...video, url: this.base + video.url };
  }

  /** Returns the times of the frames around a time of a video, in seconds. */
  async times(view: string, row: number, column: string, at: number, signal?: AbortSignal): Promise<FrameTable> {
    const table = (await this.ask("times", { view, row, column, at }, signal)) as FrameTable;
    for (const name of ["first", "frames", "width", "height"] as const) {
      if (!isCount(table[name])) throw malformed("times", `${name} is not a whole number`);
    }
    if (typeof table.duration !== "number") throw malformed("times", "no duration");
    return { ...table, times: list(table.times).filter((time) => typeof time === "number") };
  }

  /** Returns why the server does not send the file of a video; null: it does. */
  async videoFault(url: string): Promise<ApiError | null> {
    try {
      const response = await globalThis.fetch(url, { headers: { Range: "bytes=0-0" }, cache: "no-store", redirect: "error" });
      return response.ok ? null : await refusal("video", response, true);
    } catch (error) {
      return failure("video", error) as ApiError;
    }
  }

  async words(signal?: AbortSignal): Promise<{ keywords: string[]; functions: string[] }> {
    const content = (await this.ask("words", {}, signal)) as { keywords?: unknown; functions?: unknown };
    return { keywords: strings(content.keywords), functions: strings(content.functions) };
  }

  /** Calls back for each record on its arrival; rejects if the response breaks off. */
  async samples(request: SamplesRequest, onRecord: (record: SampleRecord) => void,
    signal?: AbortSignal): Promise<void> {
    const response = await this.post("samples", request, signal);
    const parser = new RecordParser();
    const reader = response.body?.getReader();
    try {
      while (reader) {
        const { done, value } = await reader.read();
        if (done) break;
        parser.push(value, (record) => {
          const { reason, message = "" } = record.header;
          // The rest of the response repeats this error.
          if (reason) throw new ApiError(message, "unsupported", 400, { reason });
          onRecord(record);
        });
      }
      parser.end();
    } catch (error) {
      // Ends the transfer of a response that cannot be read.
      void reader?.cancel().catch(() => undefined);
      throw failure("samples", error, signal);
    }
  }

  private async bytes<T>(path: string, body: object, read: (bytes: ArrayBuffer) => T,
    signal?: AbortSignal): Promise<T> {
    const response = await this.post(path, body, signal);
    let bytes: ArrayBuffer;
    try {
      bytes = await response.arrayBuffer();
    } catch (error) {
      throw failure(path, error, signal);
    }
    try {
      return read(bytes);
    } catch (error) {
      throw malformed(path, messageOf(error));
    }
  }

  private async ask(path: string, body: object, signal?: AbortSignal): Promise<object> {
    const response = await this.post(path, body, signal);
    let content: unknown;
    try {
      content = await response.json();
    } catch (error) {
      if (signal?.aborted) throw failure(path, error, signal);
      throw malformed(path, "not JSON");
    }
    if (typeof content !== "object" || content === null) throw malformed(path, "not an object");
    return content;
  }

  private async post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    const token = this.tokens.get();
    if (token !== null && path !== "enter") headers.Authorization = `Bearer ${token}`;
    let response: Response;
    try {
      response = await this.fetch(`${this.base}api/${path}`, {
        method: "POST", headers, body: JSON.stringify(body), cache: "no-store",
        credentials: "same-origin", redirect: "error", ...(signal ? { signal } : {}),
      });
    } catch (error) {
      throw failure(path, error, signal);
    }
    if (response.status === 200) return response;
    const view = (body as { view?: string }).view;
    const error = await refusal(path, response, view !== undefined);
    if (error.unknownView && view !== undefined) this.onUnknownView?.(view);
    throw error;
  }
}

/** Reads the error of a response other than 200; a proxy may have written anything there. */
async function refusal(path: string, response: Response, ofView: boolean): Promise<ApiError> {
  let error: Record<string, unknown> = {};
  try {
    const content = (await response.json()) as { error?: unknown } | null;
    if (typeof content?.error === "object" && content.error !== null) {
      error = content.error as Record<string, unknown>;
    }
  } catch {
    // The status alone is reported.
  }
  const kind = typeof error.kind === "string" ? error.kind : "internal";
  const message = typeof error.message === "string" && error.message !== ""
    ? error.message.slice(0, maxErrorText)
    : `${path}: the server answered with status ${response.status}`;
  return new ApiError(message, kind, response.status, {
    reason: typeof error.reason === "string" ? error.reason : "",
    position: count(error.position), line: count(error.line), column: count(error.column),
    unknownView: ofView && response.status === 404 && kind === "not found" && !isOfRow(path, message),
  });
}

/** Reports whether a row has no video: the kind of that is the kind of a view that is not there. */
function isOfRow(path: string, message: string): boolean {
  return (path === "video" || path === "times") && !message.includes("no view ");
}

/** Passes aborts on unchanged, and makes an ApiError of any other failure. */
function failure(path: string, error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted || error instanceof ApiError) return error;
  if (error instanceof RecordError) return new ApiError(error.message, "corrupt", 200);
  const reason = messageOf(error);
  return new ApiError(`${path}: the server cannot be reached (${reason})`, "unreachable", 0);
}

function malformed(path: string, problem: string): ApiError {
  return new ApiError(`${path}: the answer cannot be read: ${problem}`, "corrupt", 200);
}

const draws: ReadonlySet<string> = new Set(["image", "boxes", "mask", "segments", "polygons",
  "keypoints", "points", "label", "text", "json", "number", "embedding", "array", "video"]);

/** Checks the numbers that bound sizes and loops, and adds empty lists that the server left out. */
export function checkView(path: string, content: object): View {
  const view = content as View;
  if (typeof view.view !== "string") throw malformed(path, "no view");
  if (!isCount(view.rows)) throw malformed(path, "rows is not a whole number");
  return { ...view, tensors: list(view.tensors).filter(isTensor).map(checkTensor) };
}

function isTensor(value: unknown): value is Tensor {
  return typeof value === "object" && value !== null && typeof (value as Tensor).name === "string";
}

function checkTensor(tensor: Tensor): Tensor {
  return {
    ...tensor,
    group: typeof tensor.group === "string" ? tensor.group : "",
    over: typeof tensor.over === "string" ? tensor.over : "",
    class_names: strings(tensor.class_names),
    info: typeof tensor.info === "object" && tensor.info !== null ? tensor.info : {},
    draw: draws.has(tensor.draw) ? tensor.draw : "array",
  };
}

function list<T>(value: T[] | null | undefined): T[] {
  return Array.isArray(value) ? value : [];
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function count(value: unknown): number | undefined {
  return isCount(value) ? value : undefined;
}

const tokenName = "deeplake-token";

/** Keeps the token in sessionStorage, and in memory alone where a browser forbids that. */
export function sessionTokens(): TokenStore {
  let held: string | null = null;
  return {
    get() {
      if (held !== null) return held;
      try {
        held = globalThis.sessionStorage?.getItem(tokenName) ?? null;
      } catch {
        // A sandboxed frame has no storage.
      }
      return held;
    },
    set(token) {
      held = token;
      try {
        globalThis.sessionStorage?.setItem(tokenName, token);
      } catch {
        // The token then lasts as long as the page.
      }
    },
  };
}

/** Keeps the token in memory alone. */
export function memoryTokens(token: string | null = null): TokenStore {
  return { get: () => token, set: (next) => void (token = next) };
}
