// Branches, tags, saved views and commits: to open one, or to compare two commits.

import { useState } from "preact/hooks";
import type { Versions as VersionList } from "../data/protocol";
import { formatAgo, formatTime } from "./describe";
import { Dialog } from "./dialog";
import { useApp, useModel, useTask } from "./hooks";
import { VirtualList } from "./virtual";

const lineHeight = 44;

export function Versions() {
  const model = useModel();
  const list = useTask((signal) => model.connection.call(() => model.client.versions(signal), signal), []);
  return (
    <Dialog title="Versions">
      {list.busy && <p class="quiet">Reading…</p>}
      {list.error && <p class="fault" role="alert">{list.error}</p>}
      {list.value && <Lists list={list.value} />}
    </Dialog>
  );
}

function Lists({ list }: { list: VersionList }) {
  const model = useModel();
  const names: { title: string; entries: { name: string; detail: string; open: { at?: string; saved?: string } }[] }[] = [
    { title: "Branches", entries: list.branches.map((b) => ({ name: b.name, detail: `version ${b.version}`, open: { at: b.name } })) },
    { title: "Tags", entries: list.tags.map((t) => ({ name: t.name, detail: t.message, open: { at: t.name } })) },
    { title: "Saved views", entries: list.saved.map((v) => ({ name: v.name, detail: v.query, open: { saved: v.name } })) },
  ];
  return (
    <>
      <button type="button" class="plain" onClick={() => void model.openVersion({})}>What the page began with</button>
      {names.map(({ title, entries }) => entries.length > 0 && (
        <section key={title}>
          <h3>{title}</h3>
          <VirtualList label={title} class="short" count={entries.length} rowHeight={lineHeight} render={(i) => {
            const entry = entries[i];
            return entry && <button type="button" class="version-line" onClick={() => void model.openVersion(entry.open)}>
              <b>{entry.name}</b> <span class="quiet">{entry.detail}</span></button>;
          }} />
        </section>))}
      <Commits commits={list.commits} />
      {list.commits.length === 0 && <p class="quiet">No commits can be listed here.</p>}
    </>
  );
}

function Commits({ commits }: { commits: VersionList["commits"] }) {
  const model = useModel();
  const current = useApp((s) => s.view?.commit ?? "");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  if (commits.length === 0) return null;
  const compare = (): void => model.set({ compare: { from, to }, dialog: "compare" });
  return (
    <section>
      <h3>Commits</h3>
      <div class="tools">
        <span class="quiet">Choose two commits to compare</span>
        <button type="button" class="primary" data-testid="compare" disabled={!from || !to || from === to}
          onClick={compare}>Compare</button>
      </div>
      <VirtualList label="Commits" class="tall" count={commits.length} rowHeight={lineHeight} render={(i) => {
        const c = commits[i];
        return c && <div class="commit">
          <input type="radio" name="from" aria-label={`Compare from version ${c.version}`} checked={from === c.commit}
            onChange={() => setFrom(c.commit)} />
          <input type="radio" name="to" aria-label={`Compare to version ${c.version}`} checked={to === c.commit}
            onChange={() => setTo(c.commit)} />
          <button type="button" class="version-line" aria-current={c.commit === current}
            onClick={() => void model.openVersion({ at: c.commit })}>
            <b>{c.version}</b> {c.message || <span class="quiet">no message</span>}{" "}
            <span class="quiet" title={formatTime(c.time)}>{c.author} {formatAgo(c.time)}</span>
          </button>
        </div>;
      }} />
    </section>
  );
}
