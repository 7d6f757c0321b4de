// Statistics: bars of classes or values, each a filter.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Stats, Tensor } from "../../data/protocol";
import { formatNumber } from "../../draw/format";
import { useApp, useModel } from "../hooks/app";
import { useSeen } from "../hooks/browser";
import { useStats } from "../hooks/requests";
import { hasStats } from "../model/tensors";
import { formatCount, formatRows } from "../text/format";
import { formatAbout } from "../text/time";
import { hasCondition } from "../text/tql";
import { Section } from "../widgets/section";
import { secondsLeft, seenNext, type Sight } from "./left";

const page = 20;
const barsAtFirst = 12;

export function Statistics() {
  const view = useApp((s) => s.view);
  const list = useMemo(() => view?.tensors.filter(hasStats) ?? [], [view]);
  const [shown, setShown] = useState(page);
  if (list.length === 0) return null;
  return (
    <Section title="Statistics">
      {list.slice(0, shown).map((tensor) => <Card key={tensor.name} tensor={tensor} />)}
      {shown < list.length && <button type="button" class="more" onClick={() => setShown(shown + page)}>
        {formatCount(list.length - shown, "more tensor")}</button>}
    </Section>
  );
}

function Card({ tensor }: { tensor: Tensor }) {
  const [ref, seen] = useSeen<HTMLDivElement>();
  const { value, error, busy, exact } = useStats(tensor, seen);
  return (
    <div ref={ref} class={exact ? "card exact" : "card"} data-testid={`stats-${tensor.name}`}>
      <h3 title={tensor.name}>{tensor.name}</h3>
      {error ? <p class="fault">{error}</p> : value && <Figures stats={value} time={tensor.time} />}
      {busy && !exact && !error && <Counting name={tensor.name} beside={value !== undefined} />}
    </div>
  );
}

/** Shows the time and the estimated end of a count. Beside numbers it appears after a second. */
function Counting({ name, beside }: { name: string; beside: boolean }) {
  const model = useModel();
  const [seconds, setSeconds] = useState(0);
  const [seen, setSeen] = useState<Sight[]>([]);
  useEffect(() => {
    const control = new AbortController();
    const began = performance.now();
    const timer = setInterval(() => {
      setSeconds((s) => s + 1);
      model.views.withView((view) => model.client.progress(view.view, name, control.signal), control.signal).then(
        (progress) => control.signal.aborted || setSeen((all) => seenNext(all, (performance.now() - began) / 1000, progress)),
        // A count without an estimate goes on.
        () => undefined);
    }, 1000);
    return () => {
      clearInterval(timer);
      control.abort();
    };
  }, [name]);
  const last = seen[seen.length - 1];
  const left = secondsLeft(seen);
  if (beside && seconds === 0) return null;
  return (
    <p class="quiet counting" data-testid={`counting-${name}`}>
      <progress aria-label={`Counting ${name}`} {...(last ? { value: last.done, max: last.total } : {})} />
      {seconds > 0 && ` ${seconds.toLocaleString("en")} s${left === undefined ? "" : `, about ${left.toLocaleString("en")} s left`}; closing the section ends it`}
    </p>
  );
}

export interface Bar {
  label: string;
  rows: number;
  condition: string;
}

/** Returns how values of a tensor are written: as times if they count time, else as numbers. */
function writerOf(stats: Stats, time: string | undefined): (value: number) => string {
  const bins = stats.bins ?? [];
  const width = bins.length > 0 ? (bins[bins.length - 1].to - bins[0].from) / bins.length : 0;
  const counted = time !== undefined && implied.has(stats.what);
  return (value) => (counted && formatAbout(time, value, width)) || formatNumber(value);
}

export function barsOf(stats: Stats, time?: string): Bar[] {
  const filter = (i: number): string => stats.filters?.[i] ?? "";
  if (stats.kind === "classes") {
    return (stats.classes ?? []).map((c, i) =>
      ({ label: String(c.name || c.value), rows: count(c.rows), condition: filter(i) }));
  }
  if (stats.kind !== "histogram") return [];
  const write = writerOf(stats, time);
  return (stats.bins ?? []).map((bin, i) => ({
    label: bin.from === bin.to ? write(bin.from) : `${write(bin.from)} – ${write(bin.to)}`,
    rows: count(bin.rows), condition: filter(i),
  }));
}

function count(rows: unknown): number {
  return typeof rows === "number" && Number.isFinite(rows) ? Math.max(0, rows) : 0;
}

/** Kinds of numbers that the name of the tensor implies. */
const implied = new Set(["", "class", "value"]);

/** One line: the rows, and the numbers of all of them. Estimates stand apart from exact numbers. */
export function summaryOf(stats: Stats, time?: string): string {
  const write = writerOf(stats, time);
  const exact = (name: string): boolean => !stats.sampled || (stats.exact as string[] | undefined)?.includes(name) === true;
  const parts: [name: string, text: string][] = [];
  if (stats.missing > 0) parts.push(["missing", `${stats.missing.toLocaleString("en")} missing`]);
  for (const name of ["min", "mean", "max"] as const) {
    const value = stats[name];
    if (typeof value === "number") parts.push([name, `${name} ${write(value)}`]);
  }
  const list = (wanted: boolean): string[] => parts.filter(([name]) => exact(name) === wanted).map(([, text]) => text);
  const known = [formatCount(stats.rows, "row"), ...list(true)].join(", ");
  const about = stats.sampled ? [`; about, from ${formatCount(stats.sampled, "row")}`, ...list(false)].join(", ") : "";
  return `${implied.has(stats.what) ? "" : `${stats.what}: `}${known}${about}`;
}

function Figures({ stats, time }: { stats: Stats; time?: string }) {
  const bars = useMemo(() => barsOf(stats, time), [stats, time]);
  const write = writerOf(stats, time);
  const [all, setAll] = useState(false);
  const most = bars.reduce((top, bar) => Math.max(top, bar.rows), 1);
  const textOf = (bar: Bar): string => `${bar.label}: ${formatRows(bar.rows, stats)}`;
  return (
    <>
      <p class="quiet">
        {summaryOf(stats, time)}
      </p>
      {stats.kind === "histogram"
        ? <Histogram bars={bars} most={most} textOf={textOf} />
        : <div class="bars" role="list">
          {(all ? bars : bars.slice(0, barsAtFirst)).map((bar, i) =>
            <BarButton key={i} bar={bar} text={textOf(bar)} most={most} />)}
        </div>}
      {stats.kind === "histogram" && bars.length > 0 && <div class="axis quiet">
        <span>{write(stats.bins?.[0]?.from ?? 0)}</span>
        <span>{write(stats.bins?.[bars.length - 1]?.to ?? 0)}</span>
      </div>}
      {stats.kind === "classes" && !all && bars.length > barsAtFirst &&
        <button type="button" class="more" onClick={() => setAll(true)}>
          {bars.length - barsAtFirst} more</button>}
      {!!stats.more && <p class="quiet">and {formatCount(stats.more, "other class", "other classes")}</p>}
    </>
  );
}

/** One stop for the Tab key; arrows go from bin to bin. */
function Histogram({ bars, most, textOf }: { bars: Bar[]; most: number; textOf: (bar: Bar) => string }) {
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (e: KeyboardEvent): void => {
    const last = bars.length - 1;
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last }[e.key];
    if (next === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    const to = Math.min(last, Math.max(0, next));
    setAt(to);
    list.current?.querySelectorAll("button")[to]?.focus();
  };
  return (
    <div ref={list} class="histogram" role="list" onKeyDown={onKeyDown}>
      {bars.map((bar, i) => <BarButton key={i} bar={bar} text={textOf(bar)} most={most} upright stop={i === at} />)}
    </div>
  );
}

function BarButton({ bar, text, most, upright = false, stop = true }: {
  bar: Bar; text: string; most: number; upright?: boolean; stop?: boolean;
}) {
  const model = useModel();
  const on = useApp((s) => bar.condition !== "" && hasCondition(s.place.query, bar.condition));
  const part = `${100 * bar.rows / most}%`;
  // A filter that is on can be taken away even if nothing is left.
  const useful = bar.condition !== "" && (bar.rows > 0 || on);
  return (
    <div role="listitem" class="bar-item">
      <button type="button" class={upright ? "column" : "bar"} aria-pressed={on} aria-label={upright ? text : undefined}
        tabIndex={stop ? 0 : -1}
        title={useful ? `${text}\nFilter: ${bar.condition}` : text}
        // Arrow keys go through bins that are empty, so these take the focus.
        aria-disabled={!useful} onClick={() => useful && void model.queries.filter(bar.condition)}>
        <span class="fill" style={upright ? { height: part } : { width: part }} />
        {!upright && <span class="bar-label">{bar.label}</span>}
        {!upright && <span class="count">{bar.rows.toLocaleString("en")}</span>}
      </button>
    </div>
  );
}
