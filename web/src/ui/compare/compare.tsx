// Two versions side by side: the rows that were changed, added or removed.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Diff, View } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import type { Grid, GridEvents } from "../../draw/api";
import { useApp, useModel } from "../hooks/app";
import { useAppearance } from "../hooks/appearance";
import { useTask } from "../hooks/requests";
import { GridPane } from "../rows/grid";
import { formatCount } from "../text/format";
import { Dialog } from "../widgets/dialog";
import type { Comparison } from "./changes";
import { SliderView } from "./slider";
import { RowMap, subset } from "./subset";
import { Values } from "./values";

type Kind = "changed" | "added" | "removed";

export function Compare() {
  const model = useModel();
  const pair = useApp((s) => s.compare);
  const task = useTask(pair && ((signal) => model.connection.call(async (): Promise<Comparison> => {
    const [diff, from, to] = await Promise.all([
      model.client.diff(pair.from, pair.to, signal),
      model.client.open({ at: pair.from }, signal), model.client.open({ at: pair.to }, signal),
    ]);
    return { diff, from, to };
  }, signal)), [pair]);
  const opened = task.value;
  useEffect(() => () => {
    for (const view of opened ? [opened.from, opened.to] : []) {
      model.client.close(view.view).catch(() => undefined);
    }
  }, [opened]);
  return (
    <Dialog title="Compare versions" wide>
      {task.busy && <p class="quiet" role="status">Comparing…</p>}
      {task.error && <p class="fault" role="alert">{task.error}</p>}
      {opened && <Changes key={`${opened.diff.from} ${opened.diff.to}`} {...opened} />}
    </Dialog>
  );
}

function Changes({ diff, from, to }: Comparison) {
  const kinds: [Kind, number][] = [["changed", diff.rows.updated], ["added", diff.rows.added], ["removed", diff.rows.removed]];
  const [kind, setKind] = useState<Kind>(kinds.find(([, count]) => count > 0)?.[0] ?? "changed");
  const changes = diff.tensors.filter((t) => t.change !== "changed" || t.updated > 0)
    .map((t) => (t.change === "changed" ? `${t.name}: ${formatCount(t.updated, "row")}`
      : `${t.name} ${t.change}${t.was ? ` from ${t.was}` : ""}`));
  return (
    <>
      <div class="tools" role="group" aria-label="Kind of change">
        {kinds.map(([name, count]) => <button key={name} type="button" class="plain" aria-pressed={kind === name}
          data-testid={`compare-${name}`} disabled={count === 0}
          onClick={() => setKind(name)}>{formatCount(count, `${name} row`)}</button>)}
        <span class="quiet">{changes.join(", ")}</span>
      </div>
      {kinds.every(([, count]) => count === 0) ? <p class="quiet">Both versions have the same rows.</p>
        : <Sides key={kind} kind={kind} diff={diff} from={from} to={to} />}
    </>
  );
}

/** Returns the rows of both versions in the same order; -1: the version has no such row. */
export function rowsOf(diff: Diff, kind: Kind): { from: number[]; to: number[] } {
  const map = new RowMap(diff);
  if (kind === "removed") return { from: diff.removed, to: diff.removed.map(() => -1) };
  if (kind === "added") return { from: diff.added.map(() => -1), to: diff.added };
  return { from: diff.changed.map((row) => map.before(row) ?? -1), to: diff.changed };
}

/** Keeps samples of some rows of a version as long as the component is there. */
function useSubset(view: View, rows: number[], owner: string): SampleStore | null {
  const model = useModel();
  const [store, setStore] = useState<SampleStore | null>(null);
  useEffect(() => {
    const whole = model.views.storeOf(view, () => undefined);
    setStore(subset(whole, rows, owner));
    return () => whole.close();
  }, [model, view, rows]);
  return store;
}

function Sides({ kind, diff, from, to }: Comparison & { kind: Kind }) {
  const names = useApp((s) => s.compare) ?? { from: "", to: "" };
  const primary = useApp((s) => s.primary);
  const rows = useMemo(() => rowsOf(diff, kind), [diff, kind]);
  const before = useSubset(from, rows.from, "before");
  const after = useSubset(to, rows.to, "after");
  const [slider, setSlider] = useState(false);
  const [row, setRow] = useState(0);
  const [selected, setSelected] = useState(kind === "changed" ? 0 : -1);
  const select = (row: number): void => {
    setSelected(row);
    setRow(row);
  };
  const hasSlider = kind === "changed" && primary !== "";
  const grids = useScrollTogether();
  const events = (side: 0 | 1): GridEvents => ({
    selected: (row) => {
      select(row);
      grids.select(row);
    },
    opened: (row) => {
      select(row);
      setSlider(hasSlider);
    },
    hovered: () => undefined, scrolled: (first) => grids.scrolled(side, first),
  });
  if (!before || !after) return null;
  return (
    <>
      {hasSlider && <div class="tools" role="group" aria-label="Layout">
        <button type="button" class="plain" aria-pressed={!slider} data-testid="layout-sides"
          onClick={() => setSlider(false)}>Side by side</button>
        <button type="button" class="plain" aria-pressed={slider} data-testid="layout-slider"
          onClick={() => setSlider(true)}>Slider</button>
        <span class="quiet">Enter or a double click shows a row with the slider.</span>
      </div>}
      {slider ? <SliderView before={before} after={after} row={row} rows={rows.to.length} show={select} />
        : <div class="sides">
          <Side title={`before: ${versionTitle(from, names.from)}`} store={before} selected={selected} events={events(0)}
            opened={(grid) => grids.set(0, grid)} testid="side-before" />
          <Side title={`after: ${versionTitle(to, names.to)}`} store={after} selected={selected} events={events(1)}
            opened={(grid) => grids.set(1, grid)} testid="side-after" />
        </div>}
      {kind === "changed" && <Values diff={diff} from={from} to={to} before={before} after={after} row={row}
        rowBefore={rows.from[row] ?? -1} rowAfter={rows.to[row] ?? -1} />}
    </>
  );
}

/**
 * Returns the title of a version that was chosen by a name. Versions are numbered within a branch.
 */
export function versionTitle(view: View, name: string): string {
  const number = `version ${view.version}`;
  return name === "" || name === view.commit ? number : `${name}, ${number}`;
}

interface Together {
  set(side: 0 | 1, grid: Grid | null): void;
  select(row: number): void;
  scrolled(side: 0 | 1, first: number): void;
}

/** Keeps two grids at the same rows. */
function useScrollTogether(): Together {
  const grids = useRef<(Grid | null)[]>([null, null]);
  // A grid that follows reports its own move; following that in turn would hold the first one.
  const following = useRef(false);
  const follow = (move: () => void): void => {
    if (following.current) return;
    following.current = true;
    move();
    following.current = false;
  };
  return {
    set: (side, grid) => void (grids.current[side] = grid),
    select: (row) => follow(() => grids.current.forEach((grid) => grid?.select(row))),
    scrolled: (side, first) => follow(() => grids.current[1 - side]?.scrollTo(first)),
  };
}

function Side({ title, store, selected, events, opened, testid }: {
  title: string; store: SampleStore; selected: number; events: GridEvents; opened: (grid: Grid | null) => void;
  testid: string;
}) {
  const appearance = useAppearance();
  const cell = useApp((s) => s.place.cell);
  return (
    <section class="side" aria-label={title}>
      <h3>{title}</h3>
      <GridPane store={store} appearance={appearance} cell={cell} first={0} selected={selected}
        label={title} testid={testid} events={events} opened={opened} />
    </section>
  );
}
