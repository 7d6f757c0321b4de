// The page as a whole: bars, panels, the rows between them, and the dialogs.

import { useEffect } from "preact/hooks";
import { formatNumber } from "../draw/format";
import { TopBar } from "./bar/topbar";
import { Compare } from "./compare/compare";
import { Help } from "./dialogs/help";
import { SaveView } from "./dialogs/save";
import { Versions } from "./dialogs/versions";
import { useApp, useModel } from "./hooks/app";
import { useTheme } from "./hooks/theme";
import type { Model } from "./model/model";
import { modeOf } from "./model/place";
import type { State } from "./model/state";
import { RowPanel } from "./panel/panel";
import { SidePanel } from "./panels";
import { MainGrid } from "./rows/grid";
import { EmbeddingMap } from "./rows/map";
import { SingleView } from "./rows/single";
import { Table } from "./rows/table";
import { Sidebar } from "./sidebar/sidebar";
import { datasetName } from "./text/format";
import { Dialog } from "./widgets/dialog";

export function App() {
  const stop = useApp((s) => s.stop);
  useTheme();
  useKeys();
  useTitle();
  return stop ? <Stopped /> : <Shown />;
}

function Stopped() {
  const model = useModel();
  const stop = useApp((s) => s.stop);
  if (!stop) return null;
  return (
    <main class="stopped">
      <div role="alert"><h1>{stop.title}</h1><p>{stop.message}</p></div>
      <div class="tools">
        {stop.named && <button type="button" class="primary" data-testid="open-start"
          onClick={() => void model.visits.openStart()}>Open the version at the start</button>}
        {stop.retry && <button type="button" class={stop.named ? "plain" : "primary"}
          onClick={() => void model.session.start()}>Try again</button>}
      </div>
    </main>
  );
}

function Shown() {
  const store = useApp((s) => s.store);
  const left = useApp((s) => s.left.open);
  const right = useApp((s) => s.right.open);
  const mode = useApp((s) => modeOf(s.place.mode, s.primary));
  return (
    <div class="app">
      <a class="skip" href="#rows" data-testid="skip" onClick={toRows}>To the rows</a>
      <TopBar />
      <Offline />
      <div class="body">
        {left && <SidePanel side="left"><Sidebar /></SidePanel>}
        <main id="rows" class="middle" tabIndex={-1}>
          {!store && <p class="empty">Opening…</p>}
          {store && mode === "table" && <Table store={store} />}
          {store && mode === "map" && <EmbeddingMap store={store} />}
          {store && mode === "grid" && <MainGrid store={store} />}
          {store && mode === "single" && <SingleView store={store} />}
          {store?.view.rows === 0 && <NoRows />}
        </main>
        {right && <SidePanel side="right"><RowPanel /></SidePanel>}
      </div>
      <StatusLine />
      <Dialogs />
    </div>
  );
}

/** The address holds the place in the dataset, so the link must not change it. */
function toRows(e: Event): void {
  e.preventDefault();
  const rows = document.getElementById("rows");
  (rows?.querySelector<HTMLElement>("canvas[tabindex], [role=grid]") ?? rows)?.focus();
}

function NoRows() {
  const model = useModel();
  const query = useApp((s) => s.place.query);
  return (
    <div class="no-rows">
      <p class="quiet">{query === "" ? "There are no rows" : "No row is found"}</p>
      {query !== "" && <button type="button" class="plain" data-testid="clear-query"
        onClick={() => void model.queries.run("")}>Clear the query</button>}
    </div>
  );
}

/** Causes, each with the way out. */
const reasons: Readonly<Record<string, string>> = {
  "no ranges": "The web server of the dataset sends whole files where the page requests parts of them, so it cannot " +
    "show the rows. Put the files on a server that supports range requests, such as nginx, Apache or a bucket. " +
    "Python's http.server does not.",
};

function Offline() {
  const model = useModel();
  const offline = useApp((s) => s.offline);
  if (!offline) return null;
  const over = offline.retryAt === Infinity;
  return (
    <div class="offline">
      <span role="alert">{offline.reason !== "" ? reasons[offline.reason] ?? offline.reason : over
        ? "The server is gone: it was closed, or the network fails. Start it again, and open its new link."
        : "The server does not answer. The page tries again by itself."}</span>
      <button type="button" class="plain" onClick={() => model.connection.retryNow()}>Try again now</button>
      {over && offline.reason === "" && <button type="button" class="plain" onClick={() => location.reload()}>Reload the page</button>}
    </div>
  );
}

/** The rows in sight, and the annotation under the pointer. */
function StatusLine() {
  const shown = useApp(inSight);
  const hover = useApp((s) => s.hover);
  const notice = useApp((s) => s.notice);
  const parts = hover ? [`row ${hover.row.toLocaleString("en")}`] : [];
  if (hover?.x !== undefined && hover.y !== undefined) {
    parts.push(`x ${formatNumber(Math.floor(hover.x))}, y ${formatNumber(Math.floor(hover.y))}`);
  }
  if (hover?.tensor) parts.push(`${hover.tensor}${hover.text ? `: ${hover.text}` : ""}`);
  return (
    <footer class="status">
      <span data-testid="in-sight">{shown}</span>
      <span class="space">{parts.join(" · ")}</span>
      <span role="status" aria-live="polite">{notice}</span>
    </footer>
  );
}

/** Names the rows in sight. The map shows all of them. */
export function inSight({ place, primary, view, sight }: Pick<State, "place" | "primary" | "view" | "sight">): string {
  const mode = modeOf(place.mode, primary);
  const rows = view?.rows ?? 0;
  if (mode === "map" || rows === 0) return "";
  const whole = (row: number): string => row.toLocaleString("en");
  if (mode === "single") return place.row < 0 ? "" : `row ${whole(place.row)} of ${whole(rows)}`;
  if (sight.count === 0) return "";
  return `rows ${whole(sight.first)} to ${whole(Math.min(rows, sight.first + sight.count) - 1)}`;
}

function Dialogs() {
  const dialog = useApp((s) => s.dialog);
  const plan = useApp((s) => s.plan);
  if (dialog === "help") return <Help />;
  if (dialog === "versions") return <Versions />;
  if (dialog === "compare") return <Compare />;
  if (dialog === "save") return <SaveView />;
  if (dialog === "plan") return <Dialog title="Plan of the query"><pre class="plan" tabIndex={0} aria-label="Plan of the query">{plan}</pre></Dialog>;
  return null;
}

/** Opens the menu if the field is in it. */
function focusGoTo(model: Model): void {
  const find = (): HTMLElement | null => document.querySelector("[data-testid=go]");
  const field = find();
  if (field) field.focus();
  else {
    model.set({ menu: true });
    requestAnimationFrame(() => find()?.focus());
  }
}

/** Names the tab after the dataset. */
function useTitle(): void {
  const name = useApp((s) => (s.root ? datasetName(s.root) : ""));
  useEffect(() => {
    if (name !== "") document.title = `${name} – Deep Lake`;
  }, [name]);
}

/** Keys of the whole page. Fields of text keep theirs. */
function useKeys(): void {
  const model = useModel();
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const at = e.target instanceof Element ? e.target : null;
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || at?.closest("input, textarea, select, dialog, [role=separator]")) return;
      if (e.key === "?") model.open("help");
      else if (e.key === "/") document.querySelector<HTMLElement>("[data-testid=query]")?.focus();
      else if (e.key === "g") focusGoTo(model);
      else if (e.key === "v") model.open("versions");
      else if (e.key === "t") model.looks.setMode(modeOf(model.get().place.mode, model.get().primary) === "table" ? "grid" : "table");
      else if (e.key === "[") model.set({ left: { ...model.get().left, open: !model.get().left.open } });
      else if (e.key === "]") model.set({ right: { ...model.get().right, open: !model.get().right.open } });
      else return;
      e.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [model]);
}
