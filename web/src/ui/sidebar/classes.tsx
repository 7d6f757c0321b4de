// The list of classes: hides classes in the drawing, and filters rows by them.

import { useMemo, useRef, useState } from "preact/hooks";
import type { Stats, Tensor } from "../../data/protocol";
import { colorOf } from "../../draw/colors";
import { useApp, useModel } from "../hooks/app";
import { useStats } from "../hooks/requests";
import { layerOf } from "../model/layers";
import { hasClasses } from "../model/tensors";
import { formatRows } from "../text/format";
import { hasCondition } from "../text/tql";
import { Icon } from "../widgets/icons";
import { Section } from "../widgets/section";
import { VirtualList } from "../widgets/virtual";

const rowHeight = 30;
const searchFrom = 12;

export function Classes() {
  const view = useApp((s) => s.view);
  const list = useMemo(() => view?.tensors.filter(hasClasses) ?? [], [view]);
  const [chosen, choose] = useState("");
  const tensor = list.find((t) => t.name === chosen) ?? list[0];
  if (!tensor) return null;
  return (
    <Section title="Classes" open>
      {list.length > 1 && <select class="choice" aria-label="Classes of" value={tensor.name}
        onChange={(e) => choose(e.currentTarget.value)}>
        {list.slice(0, 1000).map((t) => <option key={t.name} value={t.name}>{t.name}</option>)}
      </select>}
      <ClassList key={tensor.name} tensor={tensor} />
    </Section>
  );
}

export interface ClassLine {
  value: number;
  name: string;
  /** Rows with the class; undefined: not counted. */
  rows: number | undefined;
  /** Keeps the rows of the class; "": there is none. */
  condition: string;
}

/** All classes: those that statistics have counted first, most frequent first. */
export function classLines(names: readonly string[], stats: Stats | undefined): ClassLine[] {
  const counted = new Map<number, ClassLine>();
  // Of a sequence the server counts the lengths, which are no classes.
  const counts = stats?.what === "class" ? stats : undefined;
  counts?.classes?.forEach((c, i) => {
    const value = typeof c.value === "number" ? c.value : names.indexOf(c.value);
    if (!Number.isInteger(value) || value < 0) return;
    const name = value < names.length ? names[value] : String(c.name);
    counted.set(value, { value, name, rows: c.rows, condition: counts.filters?.[i] ?? "" });
  });
  const none = counts?.kind === "classes" && !counts.more && !counts.sampled ? 0 : undefined;
  const lines = [...counted.values()];
  names.forEach((name, value) => {
    if (!counted.has(value)) lines.push({ value, name, rows: none, condition: "" });
  });
  return lines;
}

function ClassList({ tensor }: { tensor: Tensor }) {
  const model = useModel();
  const hidden = useApp((s) => layerOf(s.layers, tensor.name).hidden);
  const [search, setSearch] = useState("");
  const counted = tensor.draw === "label" || tensor.draw === "segments";
  const stats = useStats(tensor, counted);
  const all = useMemo(() => classLines(tensor.class_names, stats.value), [tensor, stats.value]);
  const lines = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    return wanted ? all.filter((line) => line.name.toLowerCase().includes(wanted)) : all;
  }, [all, search]);
  const { stop, wrapper, onKeyDown, onScroll } = useOneStop(lines.length);
  const hide = (values: Iterable<number>): void =>
    model.looks.setLayer(tensor.name, { hidden: new Set(values) });
  return (
    <>
      {all.length > searchFrom && <input type="search" class="search" value={search}
        placeholder="Find a class" aria-label={`Find a class of ${tensor.name}`}
        onInput={(e) => setSearch(e.currentTarget.value)} />}
      <div class="section-tools">
        <button type="button" class="plain" disabled={hidden.size === 0} onClick={() => hide([])}>
          Show all</button>
        <button type="button" class="plain" onClick={() => hide(all.map((line) => line.value))}>
          Hide all</button>
      </div>
      <div ref={wrapper} onKeyDown={onKeyDown} onScrollCapture={onScroll}>
        <VirtualList class="classes" label={`Classes of ${tensor.name}`} count={lines.length}
          rowHeight={rowHeight} render={(i) => <ClassRow line={lines[i]} stats={stats.value} index={i}
            stop={stop.row === i ? stop.part : -1} hidden={hidden.has(lines[i].value)} toggle={() => {
              const next = new Set(hidden);
              if (!next.delete(lines[i].value)) next.add(lines[i].value);
              hide(next);
            }} />} />
      </div>
      {stats.error && <p class="fault">{stats.error}</p>}
    </>
  );
}

/**
 * Makes a list one stop for the Tab key: arrows go along it, and between the two buttons of a line.
 */
function useOneStop(count: number) {
  const [chosen, setStop] = useState({ row: 0, part: 0 });
  const wrapper = useRef<HTMLDivElement>(null);
  const stop = { ...chosen, row: Math.min(chosen.row, Math.max(0, count - 1)) };
  const button = (row: number, part: number): HTMLElement | null | undefined =>
    wrapper.current?.querySelector<HTMLElement>(`[data-line="${row}"] [data-part="${part}"]`);
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const steps: Record<string, [row: number, part: number]> = {
      ArrowDown: [stop.row + 1, stop.part], ArrowUp: [stop.row - 1, stop.part],
      ArrowLeft: [stop.row, 0], ArrowRight: [stop.row, 1], Home: [0, stop.part], End: [count - 1, stop.part],
    };
    if (!Object.hasOwn(steps, e.key)) return;
    e.preventDefault();
    const [to, part] = steps[e.key];
    const row = Math.min(count - 1, Math.max(0, to));
    setStop({ row, part });
    const list = wrapper.current?.querySelector(".virtual");
    // Lines far away are no elements before the list is scrolled there.
    if (list && !button(row, part)) list.scrollTop = row === 0 ? 0 : list.scrollHeight;
    requestAnimationFrame(() => requestAnimationFrame(() => button(row, part)?.focus()));
  };
  /** Moves a stop that was scrolled away, and with it the only way in. */
  const onScroll = (): void => void requestAnimationFrame(() => {
    if (button(stop.row, 0) || document.activeElement?.closest("[data-line]")) return;
    const first = wrapper.current?.querySelector<HTMLElement>("[data-line]");
    if (first) setStop({ row: Number(first.dataset.line), part: 0 });
  });
  return { stop, wrapper, onKeyDown, onScroll };
}

/** `stop`: the button of the line that the Tab key reaches; -1: none. */
function ClassRow({ line, stats, index, stop, hidden, toggle }: {
  line: ClassLine; stats: Stats | undefined; index: number; stop: number; hidden: boolean; toggle: () => void;
}) {
  const model = useModel();
  const dark = useApp((s) => s.dark);
  const on = useApp((s) => line.condition !== "" && hasCondition(s.place.query, line.condition));
  const useful = line.condition !== "" && (line.rows !== 0 || on);
  const counted = line.rows === undefined ? line.name : `${line.name}: ${formatRows(line.rows, stats)}`;
  return (
    <div class={`class-row ${hidden ? "off" : ""}`} data-line={index}>
      <button type="button" class="icon-button" aria-label={`Show ${line.name}`} title={`Show ${line.name}`}
        aria-pressed={!hidden} data-part={0} tabIndex={stop === 0 ? 0 : -1} onClick={toggle}>
        <Icon name={hidden ? "eyeOff" : "eye"} /></button>
      <span class="swatch" style={{ backgroundColor: colorOf(line.value, dark) }} aria-hidden="true" />
      <button type="button" class="class-name" aria-disabled={!useful} aria-pressed={on} data-part={1}
        tabIndex={stop === 1 ? 0 : -1} title={useful ? `${counted}\nFilter: ${line.condition}` : counted}
        onClick={() => useful && void model.queries.filter(line.condition)}>{line.name || "(no name)"}</button>
      <span class="quiet count">{line.rows?.toLocaleString("en") ?? ""}</span>
    </div>
  );
}
