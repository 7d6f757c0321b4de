// Statistics: bars of classes or values, each a filter.

import { useMemo, useState } from "preact/hooks";
import type { Stats, Tensor } from "../data/protocol";
import { formatCount, formatNumber } from "./describe";
import { useApp, useModel, useSeen, useTask } from "./hooks";
import { hasStats } from "./layers";
import { Section } from "./sidebar";
import { hasCondition } from "./tql";

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
  const model = useModel();
  const view = useApp((s) => s.view);
  const [ref, seen] = useSeen<HTMLDivElement>();
  const { value, error, busy } = useTask(
    seen && view ? () => model.stats(tensor.name) : null, [view, tensor.name]);
  return (
    <div ref={ref} class="card" data-testid={`stats-${tensor.name}`}>
      <h3 title={tensor.name}>{tensor.name}</h3>
      {error ? <p class="fault">{error}</p> : value ? <Figures stats={value} />
        : <p class="quiet">{busy ? "Counting…" : ""}</p>}
    </div>
  );
}

export interface Bar {
  label: string;
  rows: number;
  condition: string;
}

export function barsOf(stats: Stats): Bar[] {
  const filter = (i: number): string => stats.filters?.[i] ?? "";
  if (stats.kind === "classes") {
    return (stats.classes ?? []).map((c, i) =>
      ({ label: String(c.name || c.value), rows: count(c.rows), condition: filter(i) }));
  }
  if (stats.kind !== "histogram") return [];
  return (stats.bins ?? []).map((bin, i) => ({
    label: bin.from === bin.to ? formatNumber(bin.from)
      : `${formatNumber(bin.from)} – ${formatNumber(bin.to)}`,
    rows: count(bin.rows), condition: filter(i),
  }));
}

function count(rows: unknown): number {
  return typeof rows === "number" && Number.isFinite(rows) ? Math.max(0, rows) : 0;
}

function Figures({ stats }: { stats: Stats }) {
  const bars = useMemo(() => barsOf(stats), [stats]);
  const [all, setAll] = useState(false);
  const most = bars.reduce((top, bar) => Math.max(top, bar.rows), 1);
  const numbers = ([["min", stats.min], ["mean", stats.mean], ["max", stats.max]] as const)
    .filter(([, value]) => typeof value === "number");
  return (
    <>
      <p class="quiet">
        {formatCount(stats.rows, "row")}
        {stats.missing > 0 && `, ${stats.missing.toLocaleString("en")} missing`}
        {numbers.map(([name, value]) => `, ${name} ${formatNumber(value ?? 0)}`)}
      </p>
      {stats.kind === "histogram"
        ? <div class="histogram" role="list">
          {bars.map((bar, i) => <BarButton key={i} bar={bar} most={most} upright />)}
        </div>
        : <div class="bars" role="list">
          {(all ? bars : bars.slice(0, barsAtFirst)).map((bar, i) =>
            <BarButton key={i} bar={bar} most={most} />)}
        </div>}
      {stats.kind === "histogram" && bars.length > 0 && <div class="axis quiet">
        <span>{formatNumber(stats.bins?.[0]?.from ?? 0)}</span>
        <span>{formatNumber(stats.bins?.[bars.length - 1]?.to ?? 0)}</span>
      </div>}
      {stats.kind === "classes" && !all && bars.length > barsAtFirst &&
        <button type="button" class="more" onClick={() => setAll(true)}>
          {bars.length - barsAtFirst} more</button>}
      {!!stats.more && <p class="quiet">and {formatCount(stats.more, "other class", "other classes")}</p>}
    </>
  );
}

function BarButton({ bar, most, upright = false }: { bar: Bar; most: number; upright?: boolean }) {
  const model = useModel();
  const on = useApp((s) => bar.condition !== "" && hasCondition(s.place.query, bar.condition));
  const part = `${100 * bar.rows / most}%`;
  const text = `${bar.label}: ${formatCount(bar.rows, "row")}`;
  return (
    <div role="listitem" class="bar-item">
      <button type="button" class={upright ? "column" : "bar"} aria-pressed={on} aria-label={text}
        title={bar.condition ? `${text}\nFilter: ${bar.condition}` : text}
        disabled={bar.condition === ""} onClick={() => void model.filter(bar.condition)}>
        <span class="fill" style={upright ? { height: part } : { width: part }} />
        {!upright && <span class="bar-label">{bar.label}</span>}
        {!upright && <span class="count">{bar.rows.toLocaleString("en")}</span>}
      </button>
    </div>
  );
}
