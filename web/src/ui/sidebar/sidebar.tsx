// The left panel: tensors, classes, statistics.

import { useMemo, useState } from "preact/hooks";
import type { Tensor, View } from "../../data/protocol";
import { planOf } from "../../draw/plan";
import { useApp, useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { layerOf } from "../model/layers";
import { picturesOf } from "../model/tensors";
import { formatForm } from "../text/format";
import { IconButton } from "../widgets/icons";
import { Section } from "../widgets/section";
import { VirtualList } from "../widgets/virtual";
import { Classes } from "./classes";
import { Coloring } from "./coloring";
import { TruthAndPredictions } from "./pair";
import { Statistics } from "./stats";

const chipHeight = 40;
const searchFrom = 8;

export function Sidebar() {
  const view = useApp((s) => s.view);
  if (!view) return null;
  return (
    <div class="sidebar" data-testid="sidebar">
      <Section title={`Tensors (${view.tensors.length.toLocaleString("en")})`} open>
        <Tensors view={view} />
      </Section>
      <Classes />
      <Coloring />
      <TruthAndPredictions />
      <Statistics />
    </div>
  );
}

type Line = { group: string } | { tensor: Tensor };

/** Puts tensors under the names of their groups. */
export function linesOf(tensors: readonly Tensor[], search: string): Line[] {
  const wanted = search.trim().toLowerCase();
  const groups = new Map<string, Tensor[]>();
  for (const tensor of tensors) {
    if (wanted && !tensor.name.toLowerCase().includes(wanted)) continue;
    const list = groups.get(tensor.group);
    if (list) list.push(tensor);
    else groups.set(tensor.group, [tensor]);
  }
  const lines: Line[] = [];
  for (const [group, list] of groups) {
    if (group) lines.push({ group });
    for (const tensor of list) lines.push({ tensor });
  }
  return lines;
}

function Tensors({ view }: { view: View }) {
  const { tensors } = view;
  const [search, setSearch] = useState("");
  const appearance = useAppearance();
  const lines = useMemo(() => linesOf(tensors, search), [tensors, search]);
  const plan = useMemo(() => planOf(view, appearance), [view, appearance]);
  const pictures = useMemo(() => new Set(picturesOf(view)), [view]);
  const overlays = useMemo(() => new Set(plan.overlays.map(({ tensor }) => tensor)), [plan]);
  return (
    <>
      {tensors.length > searchFrom && <input type="search" class="search" value={search}
        placeholder="Find a tensor" aria-label="Find a tensor"
        onInput={(e) => setSearch(e.currentTarget.value)} />}
      <VirtualList class="chips" label="Tensors" count={lines.length} rowHeight={chipHeight}
        render={(i) => {
          const line = lines[i];
          if ("group" in line) return <h3 class="group">{line.group}</h3>;
          const { tensor } = line;
          return <Chip tensor={tensor} choosable={pictures.has(tensor)}
            switchable={plan.switches.has(tensor.name)} fades={overlays.has(tensor)} />;
        }} />
    </>
  );
}

/** A tensor of the view. It has only the controls that change something in the pictures. */
function Chip({ tensor, choosable, switchable, fades }: {
  tensor: Tensor; choosable: boolean; switchable: boolean; fades: boolean;
}) {
  const model = useModel();
  const layer = useApp((s) => layerOf(s.layers, tensor.name));
  const primary = useApp((s) => s.primary === tensor.name);
  const { name } = tensor;
  const shown = name.slice(tensor.group ? tensor.group.length + 1 : 0) || name;
  return (
    <div class={`chip ${primary ? "chip-primary" : ""}`} data-testid={`chip-${name}`}
      title={`${name}\n${tensor.htype} ${formatForm(tensor)}`}>
      {choosable
        ? <button type="button" class="icon-button" aria-pressed={primary} data-testid={`eye-${name}`}
          aria-label={`Show the pictures of ${name}`} onClick={() => model.looks.showPictures(name)}>
          <span class={`radio ${primary ? "on" : ""}`} aria-hidden="true" /></button>
        : switchable ? <IconButton icon={layer.visible ? "eye" : "eyeOff"} pressed={layer.visible}
          label={`Show ${name}`} testid={`eye-${name}`} onClick={() => model.looks.toggleLayer(name)} />
          : <span class="chip-space" />}
      <span class="chip-name">{shown}</span>
      <span class="quiet chip-kind">{tensor.htype}</span>
      {fades && <input type="range" class="opacity" min={0} max={100} step={5}
        value={Math.round(layer.opacity * 100)} disabled={!layer.visible}
        aria-label={`Opacity of ${name}`} aria-valuetext={`${Math.round(layer.opacity * 100)} %`}
        onInput={(e) => model.looks.setLayer(name, { opacity: Number(e.currentTarget.value) / 100 })} />}
    </div>
  );
}
