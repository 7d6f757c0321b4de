// Formats numbers, sizes and foreign text, in one way everywhere on the page.

const maxText = 120;

export function formatNumber(value: number | bigint): string {
  if (typeof value === "bigint") return value.toString();
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}

export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

/** Makes one line of a text, without characters that change the order or the place of others. */
export function plain(text: string, most = maxText): string {
  const line = text.slice(0, 4 * most).replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return line.length > most ? `${cut(line, most - 1)}…` : line;
}

/** Returns the first characters; a pair of surrogates is not cut apart. */
export function cut(text: string, most: number): string {
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}
