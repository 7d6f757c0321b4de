// Formats numbers, sizes and foreign text, in one way everywhere on the page.

import type { Film } from "../data/samples";

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

/** Formats a length of time: "0.4 s", "9.6 s", "1:05", "2:00:00". */
export function formatDuration(seconds: number): string {
  if (!(seconds >= 9.95)) return `${formatNumber(Number(Math.max(0, seconds || 0).toFixed(1)))} s`;
  const whole = Math.floor(seconds);
  const two = (part: number): string => String(part).padStart(2, "0");
  const minutes = Math.floor(whole / 60) % 60;
  return whole < 3600 ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(whole / 3600)}:${two(minutes)}:${two(whole % 60)}`;
}

/** Describes a video in one line. */
export function formatFilm({ codec, width, height, seconds, bytes }: Film): string {
  return [plain(codec, 16), width > 0 ? `${width} × ${height}` : "", formatDuration(seconds), formatBytes(bytes)]
    .filter(Boolean).join(", ");
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
