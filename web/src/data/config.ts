// Reads deeplake.json, which lies beside an exported page and names its dataset: see
// docs/visualizer.md. The file is data: nothing in it is trusted.

export interface ReaderConfig {
  /** An absolute address. */
  dataset: string;
  /** The name of the dataset on the page; "": the end of its address. */
  name: string;
  /** A version; "": the newest commit. */
  at: string;
  /** "": all rows. */
  query: string;
}

/** The file cannot be used, for a reason that its author can correct. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

const mostText = 100_000;
const known: ReadonlySet<string> = new Set(["format", "dataset", "name", "at", "query"]);

/** Addresses in the file are relative to `base`, the address of the file. */
export function parseConfig(text: string, base: string): ReaderConfig {
  if (text.length > mostText) throw wrong(`it has more than ${mostText} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong("it is no JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong("it is no object");
  const fields = value as Record<string, unknown>;
  if (fields.format !== 1) throw wrong(`"format" is ${JSON.stringify(fields.format)}, want 1`);
  const strange = Object.keys(fields).find((name) => !known.has(name));
  if (strange !== undefined) throw wrong(`it has an unknown field ${JSON.stringify(strange.slice(0, 40))}`);
  return {
    dataset: address(textOf(fields, "dataset"), base),
    name: textOf(fields, "name"),
    at: textOf(fields, "at"),
    query: textOf(fields, "query"),
  };
}

function textOf(fields: Record<string, unknown>, name: string): string {
  const value = fields[name] ?? "";
  if (typeof value !== "string") throw wrong(`"${name}" is no text`);
  return value;
}

function address(text: string, base: string): string {
  const parsed = text !== "" && URL.canParse(text, base) ? new URL(text, base) : null;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol)) {
    throw wrong('"dataset" is no web address, as "data/" or "https://example.com/pets"');
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw wrong('"dataset" has a name or a password in it');
  }
  parsed.hash = "";
  return parsed.href;
}

function wrong(problem: string): ConfigError {
  return new ConfigError(`deeplake.json cannot be used: ${problem}; export the page again`);
}
