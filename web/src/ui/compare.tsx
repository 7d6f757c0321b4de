// Two commits side by side: the rows that were changed, added or removed.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Diff, View } from "../data/protocol";
import type { GridEvents, SampleStore } from "../draw/api";
import { formatCount } from "./describe";
import { Dialog } from "./dialog";
import { GridPane, useAppearance } from "./grid";
import { useApp, useModel, useTask } from "./hooks";
import { RowMap, subset } from "./subset";

type Kind = "changed" | "added" | "removed";
interface Pair { diff: Diff; from: View; to: View }

export function Compare() {
  const model = useModel();
  const pair = useApp((s) => s.compare);
  const task = useTask(pair && ((signal) => model.connection.call(async (): Promise<Pair> => {
    const [diff, from, to] = await Promise.all([
      model.client.diff(pair.from, pair.to, signal),
      model.client.open({ at: pair.from }, signal), model.client.open({ at: pair.to }, signal),
    ]);
    return { diff, from, to };
  }, signal)), [pair]);
  return (
    <Dialog title="Compare commits" wide>
      {task.busy && <p class="quiet">Comparing…</p>}
      {task.error && <p class="fault" role="alert">{task.error}</p>}
      {task.value && <Changes key={task.value.diff.to} {...task.value} />}
    </Dialog>
  );
}

function Changes({ diff, from, to }: Pair) {
  const [kind, setKind] = useState<Kind>(diff.changed.length > 0 ? "changed" : diff.added.length > 0 ? "added" : "removed");
  const counts: [Kind, number][] = [["changed", diff.rows.updated], ["added", diff.rows.added], ["removed", diff.rows.removed]];
  return (
    <>
      <div class="tools" role="group" aria-label="Kind of change">
        {counts.map(([name, count]) => <button key={name} type="button" class="plain" aria-pressed={kind === name}
          data-testid={`compare-${name}`} onClick={() => setKind(name)}>{formatCount(count, `${name} row`)}</button>)}
        <span class="quiet">{diff.tensors.map((t) => `${t.name} ${t.change}`).join(", ")}</span>
      </div>
      <Sides key={kind} kind={kind} diff={diff} from={from} to={to} />
    </>
  );
}

/** Rows of both versions in the same order; -1: the version has no such row. */
export function rowsOf(diff: Diff, kind: Kind): { from: number[]; to: number[] } {
  const map = new RowMap(diff);
  if (kind === "removed") return { from: diff.removed, to: diff.removed.map(() => -1) };
  if (kind === "added") return { from: diff.added.map(() => -1), to: diff.added };
  return { from: diff.changed.map((row) => map.before(row) ?? -1), to: diff.changed };
}

function Sides({ kind, diff, from, to }: Pair & { kind: Kind }) {
  const rows = useMemo(() => rowsOf(diff, kind), [diff, kind]);
  const [first, setFirst] = useState(0);
  const [selected, setSelected] = useState(-1);
  const events: GridEvents = {
    selected: setSelected, opened: () => undefined, hovered: () => undefined, scrolled: (row) => setFirst(row),
  };
  return (
    <div class="sides">
      <Side title={`before: ${from.version}`} view={from} rows={rows.from} first={first} selected={selected} events={events} />
      <Side title={`after: ${to.version}`} view={to} rows={rows.to} first={first} selected={selected} events={events} />
    </div>
  );
}

function Side({ title, view, rows, first, selected, events }: {
  title: string; view: View; rows: number[]; first: number; selected: number; events: GridEvents;
}) {
  const model = useModel();
  const appearance = useAppearance();
  const cell = useApp((s) => s.place.cell);
  const [store, setStore] = useState<SampleStore | null>(null);
  useEffect(() => {
    const whole = model.storeOf(view, () => undefined);
    setStore(subset(whole, rows, title));
    return () => whole.close();
  }, [model, view, rows]);
  return (
    <section class="side" aria-label={title}>
      <h3>{title}</h3>
      {store && <GridPane store={store} appearance={appearance} cell={cell} first={first} selected={selected}
        label={title} testid={`side-${title.split(":")[0]}`} events={events} />}
    </section>
  );
}
