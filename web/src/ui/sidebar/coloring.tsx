// Colours by a tensor: a class or a number for each shape, or for each cell.

import { useMemo, useState } from "preact/hooks";
import type { Stats, Tensor } from "../../data/protocol";
import { colorOf, rampRgb } from "../../draw/colors";
import { formatNumber } from "../../draw/format";
import { isColorable } from "../../draw/plan";
import { useApp, useModel } from "../hooks/app";
import { rangeOf, useColored } from "../hooks/appearance";
import { formatCount } from "../text/format";
import { withColumn } from "../text/tql";
import { Section } from "../widgets/section";
import { classLines } from "./classes";

const legendClasses = 12;
/** Tensors in the list; an expression reaches the others. */
const listed = 1000;
/** The name of the column that an expression becomes. */
const ownColumn = "color";

export function Coloring() {
  const model = useModel();
  const view = useApp((s) => s.view);
  const list = useMemo(() => view?.tensors.filter(isColorable) ?? [], [view]);
  const { tensor, stats } = useColored();
  if (list.length === 0) return null;
  const shown = list.filter((one, i) => i < listed || one === tensor);
  return (
    <Section title="Colors" open>
      <label class="choice"><span>By</span>
        <select value={tensor?.name ?? ""} data-testid="color"
          title="A computed column of the query stands here too: SELECT *, expression AS name"
          onChange={(e) => model.navigation.move({ color: e.currentTarget.value })}>
          <option value="">class of each shape</option>
          {shown.map(({ name }) => <option key={name} value={name}>{name}</option>)}
        </select></label>
      <Expression />
      {stats.error && tensor ? <p class="fault">{stats.error}</p> : tensor && <Legend tensor={tensor} stats={stats.value} />}
    </Section>
  );
}

/** Adds an expression to the query as a column, and colours by it. */
function Expression() {
  const model = useModel();
  const [text, setText] = useState("");
  const color = async (e: Event): Promise<void> => {
    e.preventDefault();
    if (text.trim() === "") return;
    await model.queries.run(withColumn(model.get().draft, text.trim(), ownColumn));
    if (!model.get().fault) model.navigation.move({ color: ownColumn });
  };
  return (
    <form onSubmit={(e) => void color(e)}>
      <input type="text" class="search" data-testid="color-expression" value={text} spellcheck={false}
        placeholder="or an expression" aria-label="Color by an expression of the query language"
        title="As SHAPE(boxes)[0]: Enter adds it to the query as the column “color”"
        onInput={(e) => setText(e.currentTarget.value)} />
    </form>
  );
}

function Legend({ tensor, stats }: { tensor: Tensor; stats: Stats | undefined }) {
  const dark = useApp((s) => s.dark);
  if (tensor.draw === "label") {
    const lines = classLines(tensor.class_names, stats);
    return (
      <ul class="legend" data-testid="legend">
        {lines.slice(0, legendClasses).map(({ value, name }) => (
          <li key={value}><span class="swatch" style={{ backgroundColor: colorOf(value, dark) }} aria-hidden="true" />
            {name || "(no name)"}</li>))}
        {lines.length > legendClasses && <li class="quiet">{formatCount(lines.length - legendClasses, "more class", "more classes")}</li>}
      </ul>
    );
  }
  const range = rangeOf(stats);
  if (!range) return stats ? <p class="quiet">There are no numbers.</p> : <p class="quiet">Counting…</p>;
  const stops = [0, 0.25, 0.5, 0.75, 1].map((part) => `rgb(${rampRgb(part).join(" ")})`);
  return (
    <div data-testid="legend">
      <div class="ramp" style={{ backgroundImage: `linear-gradient(to right, ${stops.join(", ")})` }} aria-hidden="true" />
      <div class="axis quiet"><span>{formatNumber(range.low)}</span><span>{formatNumber(range.high)}</span></div>
    </div>
  );
}
