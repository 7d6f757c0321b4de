// The errors of requests, and their texts.

/** A request that the server refused, or that did not reach it (kind "unreachable"). */
export class ApiError extends Error {
  override name = "ApiError";
  readonly kind: string;
  /** The HTTP status; 0: there was no response. */
  readonly status: number;
  /** Characters of the query before the fault. */
  readonly position: number | undefined;
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** Why other requests would fail as well; "": they may succeed. */
  readonly reason: string;
  /** The server no longer knows the view of the request: open it again. */
  readonly unknownView: boolean;

  constructor(message: string, kind: string, status: number, more: Partial<ErrorDetails> = {}) {
    super(message);
    this.kind = kind;
    this.status = status;
    this.position = more.position;
    this.line = more.line;
    this.column = more.column;
    this.reason = more.reason ?? "";
    this.unknownView = more.unknownView ?? false;
  }
}

interface ErrorDetails {
  position: number;
  line: number;
  column: number;
  unknownView: boolean;
  reason: string;
}

/** Returns the text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
