// Writes numbers that count time, as the schema of their tensor says: "date", "timestamp[us]",
// "timestamp[us, Europe/Berlin]" and "interval[us]".

const day = 86_400n;
const digits: Record<string, number> = { s: 0, ms: 3, us: 6, ns: 9 };
const notATime = -(2n ** 63n);

/** Returns the text of a count, or null if `time` names no time that this page knows. */
export function formatCounted(time: string, value: number | bigint): string | null {
  const [, kind, unit = "s", zone = ""] =
    /^(date|timestamp|interval)(?:\[(s|ms|us|ns)(?:, (.+))?\])?$/.exec(time) ?? [];
  if (!kind || typeof value === "number" && !Number.isSafeInteger(value)) return null;
  const count = BigInt(value);
  if (count === notATime) return "not a time";
  if (kind === "date") return clock(count * day, "")?.slice(0, -9) ?? null;
  const places = digits[unit];
  const [seconds, rest] = divided(kind === "interval" ? abs(count) : count, 10n ** BigInt(places));
  const part = rest === 0n ? "" : `.${rest.toString().padStart(places, "0").replace(/0+$/, "")}`;
  if (kind === "interval") return `${count < 0n ? "-" : ""}${length(seconds)}${part}`;
  const at = clock(seconds, zone);
  if (at) return `${at}${part}${zone && ` ${zone}`}`;
  // The browser does not know the zone, or the year has not four digits.
  const utc = clock(seconds, "");
  return utc && `${utc}${part} UTC`;
}

/**
 * Returns the text of a count that need be no whole number, as that of a mean. `step` is the
 * distance of counts that are told apart: from a second on no fractions are written, from a day on
 * no hours.
 */
export function formatAbout(time: string, value: number, step: number): string | null {
  const [, kind, unit = "s"] = /^(date|timestamp|interval)(?:\[(s|ms|us|ns)\b)?/.exec(time) ?? [];
  if (!kind || !Number.isFinite(value)) return null;
  if (kind === "date") return formatCounted(time, BigInt(Math.round(value)));
  const second = 10 ** digits[unit];
  const text = formatCounted(time, step < second ? BigInt(Math.round(value)) : BigInt(Math.floor(value / second)) * BigInt(second));
  return kind === "timestamp" && step >= Number(day) * second ? text?.slice(0, "2000-01-01".length) ?? null : text;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** Divides, with a rest of at least 0. */
function divided(value: bigint, by: bigint): [bigint, bigint] {
  const rest = ((value % by) + by) % by;
  return [(value - rest) / by, rest];
}

/** Writes the time of seconds since 1970, in UTC for zone ""; null: it cannot be written. */
function clock(seconds: bigint, zone: string): string | null {
  const at = new Date(Number(seconds + offset(zone)) * 1000);
  if (Number.isNaN(at.getTime())) return null;
  const year = at.getUTCFullYear();
  if (zone && !isOffset.test(zone)) {
    if (year < 1 || year > 9999) return null;
    try {
      // Swedish writes as ISO does.
      const form = new Intl.DateTimeFormat("sv-SE", {
        timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit",
        hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
      });
      return form.format(at).replace(",", "");
    } catch {
      return null;
    }
  }
  return at.toISOString().replace("T", " ").replace(/\.\d+Z$/, "");
}

const isOffset = /^([+-])(\d\d):(\d\d)$/;

function offset(zone: string): bigint {
  const [, sign, hours, minutes] = isOffset.exec(zone) ?? [];
  const size = BigInt(hours ?? 0) * 3600n + BigInt(minutes ?? 0) * 60n;
  return sign === "-" ? -size : size;
}

/** Writes a length of time: "1:02:03", or "3 days 1:02:03". */
function length(seconds: bigint): string {
  const two = (value: bigint): string => value.toString().padStart(2, "0");
  const text = `${seconds % day / 3600n}:${two(seconds % 3600n / 60n)}:${two(seconds % 60n)}`;
  const days = seconds / day;
  return days === 0n ? text : `${days} ${days === 1n ? "day" : "days"} ${text}`;
}
