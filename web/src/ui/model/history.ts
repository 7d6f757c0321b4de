// Keeps the texts that were run, newest last, for the arrow keys of the query box.

const storageName = "deeplake-queries";
const most = 100;
const longest = 10_000;

export class History {
  private list: string[];
  /** Index of the text on show; the length of the list stands for the unsent text. */
  private at: number;
  private draft = "";

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem"> | null = sessionOf()) {
    this.list = read(this.storage);
    this.at = this.list.length;
  }

  add(text: string): void {
    const trimmed = text.trim();
    if (trimmed !== "" && trimmed.length <= longest) {
      this.list = [...this.list.filter((old) => old !== trimmed), trimmed].slice(-most);
      try {
        this.storage?.setItem(storageName, JSON.stringify(this.list));
      } catch {
        // A full storage costs the history of the next page alone.
      }
    }
    this.at = this.list.length;
  }

  /** The text before the one on show; undefined at the oldest. */
  back(text: string): string | undefined {
    if (this.at === 0) return undefined;
    if (this.at === this.list.length) this.draft = text;
    return this.list[--this.at];
  }

  /** Returns the text after the one on show; after the last, the unsent text. */
  forward(): string | undefined {
    if (this.at >= this.list.length) return undefined;
    this.at++;
    return this.at === this.list.length ? this.draft : this.list[this.at];
  }
}

function read(storage: Pick<Storage, "getItem"> | null): string[] {
  try {
    const list: unknown = JSON.parse(storage?.getItem(storageName) ?? "[]");
    return Array.isArray(list) ? list.filter((text) => typeof text === "string").slice(-most) : [];
  } catch {
    return [];
  }
}

/** Returns the storage of the tab; null: the browser forbids it. */
export function sessionOf(): Storage | null {
  try {
    return globalThis.sessionStorage ?? null;
  } catch {
    // A sandboxed frame has no storage.
    return null;
  }
}
