// The bar at the top: which dataset and version, the query, the ways to look at rows.

import { useState } from "preact/hooks";
import { copyText, useApp, useModel } from "./hooks";
import { IconButton, type IconName } from "./icons";
import { embeddings } from "./map";
import { modeOf } from "./layers";
import { largestCell, smallestCell, type Mode } from "./place";
import { QueryBox } from "./query";
import { nextTheme } from "./theme";

const modes: readonly [Exclude<Mode, "">, IconName, string][] = [
  ["grid", "grid", "Grid"], ["single", "single", "Single sample"], ["table", "table", "Table (t)"], ["map", "map", "Map of embeddings"],
];

export function TopBar() {
  const model = useModel();
  const theme = useApp((s) => s.theme);
  const left = useApp((s) => s.left);
  const right = useApp((s) => s.right);
  const copyLink = async (): Promise<void> => {
    const link = model.link();
    model.say(await copyText(link) ? "Copied the link to this place" : `The browser forbids copying: ${link}`);
  };
  return (
    <header class="topbar">
      <IconButton icon="sidebar" label="Tensors and filters ([)" pressed={left.open}
        onClick={() => model.set({ left: { ...left, open: !left.open } })} />
      <Dataset />
      <QueryBox />
      <GoTo />
      <Modes />
      <IconButton icon="link" label="Copy the link to this place" onClick={() => void copyLink()} />
      <IconButton icon={theme === "auto" ? "auto" : theme === "dark" ? "moon" : "sun"} label={`Colors: ${theme}`}
        onClick={() => model.set({ theme: nextTheme(theme) })} />
      <IconButton icon="help" label="Keys and help (?)" onClick={() => model.open("help")} />
      <IconButton icon="panel" label="Selected row (])" pressed={right.open}
        onClick={() => model.set({ right: { ...right, open: !right.open } })} />
    </header>
  );
}

function Dataset() {
  const model = useModel();
  const view = useApp((s) => s.view);
  const place = useApp((s) => s.place);
  const picked = useApp((s) => s.picked);
  if (!view) return null;
  const name = view.uri.replace(/\/+$/, "").split("/").pop() || view.uri;
  const version = place.saved || place.at || `${view.branch}@${view.version}`;
  return (
    <>
      <h1 class="dataset" title={view.uri}>{name}</h1>
      <IconButton icon="branch" label={`${version}: versions (v)`} testid="versions" class="version"
        onClick={() => model.open("versions")}><span class="version-name">{version}</span></IconButton>
      <span class="count" data-testid="rows">{view.rows.toLocaleString("en")} {view.rows === 1 ? "row" : "rows"}</span>
      {picked && <button type="button" class="plain" data-testid="unpick" onClick={() => void model.unpick()}>All rows</button>}
    </>
  );
}

function Modes() {
  const model = useModel();
  const place = useApp((s) => s.place);
  const primary = useApp((s) => s.primary);
  const mode = modeOf(place.mode, primary);
  const maps = useApp((s) => embeddings(s.view).length > 0);
  return (
    <div class="modes" role="group" aria-label="Ways to look at rows">
      {modes.filter(([name]) => name !== "map" || maps).map(([name, icon, label]) =>
        <IconButton key={name} icon={icon} label={label} pressed={mode === name} testid={`mode-${name}`}
          disabled={name === "single" && !primary} onClick={() => model.setMode(name)} />)}
      {mode === "grid" && <input type="range" class="cell" min={Math.log2(smallestCell)} max={Math.log2(largestCell)}
        step={0.125} value={Math.log2(place.cell)} aria-label="Size of cells" aria-valuetext={`${place.cell} pixels`}
        onInput={(e) => model.setCell(Math.round(2 ** Number(e.currentTarget.value)))} />}
    </div>
  );
}

function GoTo() {
  const model = useModel();
  const [text, setText] = useState("");
  const go = (e: Event): void => {
    e.preventDefault();
    const fault = model.goTo(text);
    if (fault) model.say(fault);
    else setText("");
  };
  return (
    <form class="go" onSubmit={go}>
      <input type="text" data-testid="go" placeholder="Go to" aria-label="Go to a row, as 123, or a slice, as 100:200"
        title="A row, as 123, or a slice, as 100:200" value={text} onInput={(e) => setText(e.currentTarget.value)} />
    </form>
  );
}
