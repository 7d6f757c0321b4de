// The page as a whole: bars, panels, what is between them, and the dialogs.

import { useEffect } from "preact/hooks";
import { Compare } from "./compare";
import { Dialog } from "./dialog";
import { formatNumber } from "./describe";
import { MainGrid } from "./grid";
import { Help } from "./help";
import { useApp, useModel } from "./hooks";
import { modeOf } from "./layers";
import { RowPanel } from "./panel";
import { Sidebar } from "./sidebar";
import { SingleView } from "./single";
import { Table } from "./table";
import { useTheme } from "./theme";
import { TopBar } from "./topbar";
import { Versions } from "./versions";

export function App() {
  const stop = useApp((s) => s.stop);
  useTheme();
  useKeys();
  return stop ? <Stopped /> : <Shown />;
}

function Stopped() {
  const model = useModel();
  const stop = useApp((s) => s.stop);
  if (!stop) return null;
  return (
    <main class="stopped">
      <div role="alert"><h1>{stop.title}</h1><p>{stop.message}</p></div>
      {stop.retry && <button type="button" class="primary" onClick={() => void model.start()}>Try again</button>}
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
      <TopBar />
      <Offline />
      <div class="body">
        {left && <Sidebar />}
        <main class="middle">
          {!store && <p class="empty">Opening…</p>}
          {store && mode === "table" && <Table store={store} />}
          {store && mode === "grid" && <MainGrid store={store} />}
          {store && mode === "single" && <SingleView store={store} />}
        </main>
        {right && <RowPanel />}
      </div>
      <StatusLine />
      <Dialogs />
    </div>
  );
}

function Offline() {
  const offline = useApp((s) => s.offline);
  return offline && (
    <div class="offline" role="alert">The server does not answer. The page tries again by itself.</div>
  );
}

/** Rows in sight, and what lies under the pointer. */
function StatusLine() {
  const sight = useApp((s) => s.sight);
  const hover = useApp((s) => s.hover);
  const notice = useApp((s) => s.notice);
  const parts = hover ? [`row ${hover.row.toLocaleString("en")}`] : [];
  if (hover?.x !== undefined && hover.y !== undefined) {
    parts.push(`x ${formatNumber(Math.floor(hover.x))}, y ${formatNumber(Math.floor(hover.y))}`);
  }
  if (hover?.tensor) parts.push(`${hover.tensor}${hover.text ? `: ${hover.text}` : ""}`);
  return (
    <footer class="status">
      <span>{sight.count > 0 && `rows ${sight.first.toLocaleString("en")} to ${(sight.first + sight.count - 1).toLocaleString("en")}`}</span>
      <span class="space">{parts.join(" · ")}</span>
      <span role="status" aria-live="polite">{notice}</span>
    </footer>
  );
}

function Dialogs() {
  const dialog = useApp((s) => s.dialog);
  const plan = useApp((s) => s.plan);
  if (dialog === "help") return <Help />;
  if (dialog === "versions") return <Versions />;
  if (dialog === "compare") return <Compare />;
  if (dialog === "plan") return <Dialog title="Plan of the query"><pre class="plan">{plan}</pre></Dialog>;
  return null;
}

/** Keys of the whole page. Fields of text keep theirs. */
function useKeys(): void {
  const model = useModel();
  useEffect(() => {
    const onKey = (e: KeyboardEvent): void => {
      const at = e.target instanceof Element ? e.target : null;
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || at?.closest("input, textarea, select, dialog")) return;
      if (e.key === "?") model.open("help");
      else if (e.key === "/") document.querySelector<HTMLElement>("[data-testid=query]")?.focus();
      else if (e.key === "g") document.querySelector<HTMLElement>("[data-testid=go]")?.focus();
      else if (e.key === "v") model.open("versions");
      else if (e.key === "t") model.setMode(modeOf(model.get().place.mode, model.get().primary) === "table" ? "grid" : "table");
      else if (e.key === "[") model.set({ left: { ...model.get().left, open: !model.get().left.open } });
      else if (e.key === "]") model.set({ right: { ...model.get().right, open: !model.get().right.open } });
      else return;
      e.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [model]);
}
