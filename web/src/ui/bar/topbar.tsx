// The bar at the top: which dataset and version, the query, the ways to look at rows.

import type { ComponentChildren } from "preact";
import { useApp, useModel } from "../hooks/app";
import { useNarrow } from "../hooks/browser";
import { modeOf, type Mode } from "../model/place";
import { embeddings } from "../model/tensors";
import { datasetName } from "../text/format";
import { IconButton, type IconName } from "../widgets/icons";
import { CellSize, GoTo, useActions } from "./actions";
import { Menu } from "./menu";
import { QueryBox } from "./query";

const modes: readonly [Exclude<Mode, "">, IconName, string][] = [
  ["grid", "grid", "Grid"], ["single", "single", "Single sample"], ["table", "table", "Table (t)"], ["map", "map", "Map of embeddings"],
];

/** In a narrow window the bar has two lines: dataset and modes, then the query and a menu. */
export function TopBar() {
  const model = useModel();
  const narrow = useNarrow();
  const actions = useActions();
  const left = useApp((s) => s.left);
  const sidebar = <IconButton icon="sidebar" label="Tensors and filters ([)" pressed={left.open}
    onClick={() => model.set({ left: { ...left, open: !left.open } })} />;
  if (narrow) {
    return (
      <header class="topbar narrow">
        <div class="topline">{sidebar}<Dataset /><span class="space" /><Modes /></div>
        <QueryBox key="query" narrow />
        <Menu />
      </header>
    );
  }
  return (
    <header class="topbar">
      {sidebar}
      <Dataset />
      <QueryBox key="query" />
      <GoTo />
      <Modes><CellSize /></Modes>
      {actions.map(({ icon, label, title, pressed, run }) =>
        <IconButton key={title} icon={icon} label={label} pressed={pressed} onClick={run} />)}
    </header>
  );
}

function Dataset() {
  const model = useModel();
  const view = useApp((s) => s.view);
  const place = useApp((s) => s.place);
  const picked = useApp((s) => s.picked);
  if (!view) return null;
  const version = place.saved || place.at || `${view.branch}@${view.version}`;
  return (
    <>
      <h1 class="dataset" title={view.uri}>{datasetName(view)}</h1>
      <IconButton icon="branch" label={`${version}: versions (v)`} testid="versions" class="version"
        onClick={() => model.open("versions")}><span class="version-name">{version}</span></IconButton>
      <span class="count" data-testid="rows">{view.rows.toLocaleString("en")} {view.rows === 1 ? "row" : "rows"}</span>
      {picked && <button type="button" class="plain" data-testid="unpick" onClick={() => void model.views.unpick()}>All rows</button>}
    </>
  );
}

function Modes({ children }: { children?: ComponentChildren }) {
  const model = useModel();
  const place = useApp((s) => s.place);
  const primary = useApp((s) => s.primary);
  const mode = modeOf(place.mode, primary);
  const maps = useApp((s) => embeddings(s.view).length > 0);
  return (
    <div class="modes" role="group" aria-label="Ways to look at rows">
      {modes.filter(([name]) => name !== "map" || maps).map(([name, icon, label]) =>
        <IconButton key={name} icon={icon} label={label} pressed={mode === name} testid={`mode-${name}`}
          disabled={name === "single" && !primary} onClick={() => model.looks.setMode(name)} />)}
      {children}
    </div>
  );
}
