// The list of classes: hides classes in the drawing, and filters rows by them.

import { useMemo, useState } from "preact/hooks";
import { colorOf } from "../draw/colors";
import type { Stats, Tensor } from "../data/protocol";
import { useApp, useModel, useStats } from "./hooks";
import { IconButton } from "./icons";
import { hasClasses, layerOf } from "./layers";
import { Section } from "./sidebar";
import { hasCondition } from "./tql";
import { VirtualList } from "./virtual";

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
  stats?.classes?.forEach((c, i) => {
    const value = typeof c.value === "number" ? c.value : names.indexOf(c.value);
    if (!Number.isInteger(value) || value < 0) return;
    const name = value < names.length ? names[value] : String(c.name);
    counted.set(value, { value, name, rows: c.rows, condition: stats.filters?.[i] ?? "" });
  });
  const none = stats?.kind === "classes" && !stats.more && !stats.sampled ? 0 : undefined;
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
  const hide = (values: Iterable<number>): void =>
    model.setLayer(tensor.name, { hidden: new Set(values) });
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
      <VirtualList class="classes" label={`Classes of ${tensor.name}`} count={lines.length}
        rowHeight={rowHeight} render={(i) => <ClassRow line={lines[i]}
          hidden={hidden.has(lines[i].value)} toggle={() => {
            const next = new Set(hidden);
            if (!next.delete(lines[i].value)) next.add(lines[i].value);
            hide(next);
          }} />} />
      {stats.error && <p class="fault">{stats.error}</p>}
    </>
  );
}

function ClassRow({ line, hidden, toggle }: {
  line: ClassLine; hidden: boolean; toggle: () => void;
}) {
  const model = useModel();
  const dark = useApp((s) => s.dark);
  const on = useApp((s) => line.condition !== "" && hasCondition(s.place.query, line.condition));
  return (
    <div class={`class-row ${hidden ? "off" : ""}`}>
      <IconButton icon={hidden ? "eyeOff" : "eye"} label={`Show ${line.name}`} pressed={!hidden}
        onClick={toggle} />
      <span class="swatch" style={{ backgroundColor: colorOf(line.value, dark) }} aria-hidden="true" />
      <button type="button" class="class-name" disabled={line.condition === ""} aria-pressed={on}
        title={line.condition ? `${line.name}\nFilter: ${line.condition}` : line.name}
        onClick={() => void model.filter(line.condition)}>{line.name || "(no name)"}</button>
      <span class="quiet count">{line.rows?.toLocaleString("en") ?? ""}</span>
    </div>
  );
}
