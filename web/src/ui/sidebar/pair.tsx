// Truth and predictions: two tensors side by side, and rows in the order of disagreement.

import { useMemo } from "preact/hooks";
import { useApp, useModel } from "../hooks/app";
import { orderByColumn } from "../text/tql";
import { Section } from "../widgets/section";
import { agreement, guessPair, rivalsOf, scoreName, type Pair } from "./truth";

export function TruthAndPredictions() {
  const model = useModel();
  const view = useApp((s) => s.view);
  const primary = useApp((s) => s.primary);
  const shown = useApp((s) => s.place.pair);
  const chosen = useApp((s) => s.pair);
  const rivals = useMemo(() => (view ? rivalsOf(view, primary) : []), [view, primary]);
  const find = (name: string | undefined) => rivals.find((t) => t.name === name);
  const wanted = shown.length === 2 ? shown : chosen;
  const pair = find(wanted[0]) && find(wanted[1]) ? wanted as Pair : guessPair(rivals);
  const truth = find(pair?.[0]);
  const prediction = find(pair?.[1]);
  if (!view || !truth || !prediction) return null;
  const on = shown.length === 2;
  const choose = (pair: Pair): void => {
    model.set({ pair });
    if (on) model.navigation.move({ pair: [...pair] });
  };
  const words = new Set(model.get().words.keywords);
  const order = agreement(view, truth, prediction, primary, words);
  const select = (label: string, value: string, change: (name: string) => Pair) => (
    <label class="choice"><span>{label}</span>
      <select value={value} onChange={(e) => choose(change(e.currentTarget.value))}>
        {rivals.map((t) => <option key={t.name} value={t.name}>{t.name}</option>)}
      </select></label>
  );
  return (
    <Section title="Truth and predictions" open>
      {select("Left", truth.name, (name) => [name, prediction.name])}
      {select("Right", prediction.name, (name) => [truth.name, name])}
      <div class="section-tools">
        <button type="button" class="plain" aria-pressed={on} data-testid="pair" disabled={truth === prediction}
          onClick={() => model.navigation.move({ pair: on ? [] : [truth.name, prediction.name] })}>Side by side</button>
        <button type="button" class="plain" data-testid="disagreement" disabled={order === "" || truth === prediction}
          title={order ? `ORDER BY ${order}` : "Boxes alone can be compared, and no sequences"}
          onClick={() => void model.queries.run(orderByColumn(model.get().draft, order, scoreName(view)))}>Sort by disagreement</button>
      </div>
    </Section>
  );
}
