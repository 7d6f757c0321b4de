// Branches, tags, saved views and commits: to open one, or to compare two of them.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Versions as VersionList } from "../../data/protocol";
import { useApp, useModel } from "../hooks/app";
import { useTask } from "../hooks/requests";
import type { Model } from "../model/model";
import { formatAgo, formatCount } from "../text/format";
import { Dialog } from "../widgets/dialog";
import { VirtualList } from "../widgets/virtual";

const lineHeight = 44;

export function Versions() {
  const model = useModel();
  // A version that opens meanwhile may be of another branch.
  const branch = useApp((s) => s.root?.branch);
  const list = useTask((signal) => model.connection.call(() => model.client.versions(branch, signal), signal), [branch]);
  return (
    <Dialog title="Versions">
      {list.busy && <p class="quiet">Reading…</p>}
      {list.error && <p class="fault" role="alert">{list.error}</p>}
      {list.value && <Lists list={list.value} />}
    </Dialog>
  );
}

/** The two versions to compare, by branch, tag or commit; "": not chosen yet. */
interface Chosen {
  from: string;
  to: string;
}

type Choose = (side: keyof Chosen, name: string) => void;

function Lists({ list }: { list: VersionList }) {
  const model = useModel();
  const [chosen, setChosen] = useState<Chosen>({ from: "", to: "" });
  const choose: Choose = (side, name) => setChosen((before) => ({ ...before, [side]: name }));
  const { from, to } = chosen;
  const named = [
    { title: "Branches", kind: "branch", entries: list.branches.map((b) => ({ name: b.name, detail: `version ${b.version}` })) },
    { title: "Tags", kind: "tag", entries: list.tags.map((t) => ({ name: t.name, detail: t.message })) },
  ];
  return (
    <>
      <div class="tools">
        <button type="button" class="plain" onClick={() => void model.visits.openVersion({})}>
          Back to the version at the start</button>
        <span class="space" />
        <span class="quiet" data-testid="compare-chosen">{chosenText(list, chosen)}</span>
        <button type="button" class="primary" data-testid="compare" disabled={!from || !to || from === to}
          onClick={() => compare(model, from, to)}>Compare</button>
      </div>
      {named.map(({ title, kind, entries }) => entries.length > 0 && (
        <section key={title}>
          <ListHead title={title} />
          <VirtualList label={title} class="short" count={entries.length} rowHeight={lineHeight} render={(i) => {
            const entry = entries[i];
            return entry && <div class="commit">
              <Sides name={entry.name} chosen={chosen} choose={choose}
                labels={[`From ${kind} ${entry.name}`, `To ${kind} ${entry.name}`]} />
              <Line open={{ at: entry.name }}><b>{entry.name}</b> <span class="quiet">{entry.detail}</span></Line>
            </div>;
          }} />
        </section>))}
      <Saved saved={list.saved} />
      <Commits list={list} chosen={chosen} choose={choose} />
      {list.commits.length === 0 && <p class="quiet">No commits can be listed here.</p>}
    </>
  );
}

function compare(model: Model, from: string, to: string): void {
  model.set({ compare: { from, to }, dialog: "compare" });
}

/** Names the versions that the button compares: a commit by its version, which is shorter. */
export function chosenText(list: Pick<VersionList, "commits">, { from, to }: Chosen): string {
  const title = (name: string): string => {
    const commit = list.commits.find((c) => c.commit === name);
    return commit ? `version ${commit.version}` : name;
  };
  if (from === "" && to === "") return "To compare two, choose From and To";
  if (from === "") return `To ${title(to)}: choose From`;
  if (to === "") return `From ${title(from)}: choose To`;
  return `From ${title(from)} to ${title(to)}`;
}

function ListHead({ title }: { title: string }) {
  return (
    <div class="commit-head">
      <h3>{title}</h3>
      <span class="side-choice" aria-hidden="true">From</span><span class="side-choice" aria-hidden="true">To</span>
    </div>
  );
}

/** `labels` are read out by screen readers: the headings alone would not name the line. */
function Sides({ name, chosen, choose, labels }: {
  name: string; chosen: Chosen; choose: Choose; labels: [from: string, to: string];
}) {
  return (
    <>
      {(["from", "to"] as const).map((side, i) => (
        <span key={side} class="side-choice"><input type="radio" name={side} aria-label={labels[i]}
          checked={chosen[side] === name} onChange={() => choose(side, name)} /></span>))}
    </>
  );
}

function Line({ open, current = false, children }: {
  open: { at?: string; saved?: string }; current?: boolean; children: ComponentChildren;
}) {
  const model = useModel();
  return (
    <button type="button" class="version-line" aria-current={current}
      onClick={() => void model.visits.openVersion(open)}>{children}</button>
  );
}

function Saved({ saved }: { saved: VersionList["saved"] }) {
  if (saved.length === 0) return null;
  return (
    <section>
      <h3>Saved views</h3>
      <VirtualList label="Saved views" class="short" count={saved.length} rowHeight={lineHeight} render={(i) => {
        const view = saved[i];
        return view && <Line open={{ saved: view.name }}>
          <b>{view.name}</b> {formatCount(view.rows, "row")} <span class="quiet">{view.query}</span></Line>;
      }} />
    </section>
  );
}

function Commits({ list, chosen, choose }: { list: VersionList; chosen: Chosen; choose: Choose }) {
  const model = useModel();
  const current = useApp((s) => s.view?.commit ?? "");
  const { commits, branch } = list;
  if (commits.length === 0) return null;
  return (
    <section>
      <ListHead title={branch === "" ? "Commits" : `Commits of ${branch}`} />
      <VirtualList label="Commits" class="tall" count={commits.length} rowHeight={lineHeight} render={(i) => {
        const c = commits[i];
        return c && <div class="commit">
          <Sides name={c.commit} chosen={chosen} choose={choose}
            labels={[`Compare from version ${c.version}`, `Compare to version ${c.version}`]} />
          <Line open={{ at: c.commit }} current={c.commit === current}>
            <b>{c.version}</b> {c.message || <span class="quiet">no message</span>}{" "}
            <span class="quiet" title={c.time}>{c.author} {formatAgo(c.time)}</span>
          </Line>
          {c.parents.length > 0 && <button type="button" class="plain" data-testid={`compare-before-${c.version}`}
            aria-label={`Compare with the one before: version ${c.version}`}
            onClick={() => compare(model, c.parents[0], c.commit)}>Compare with the one before</button>}
        </div>;
      }} />
    </section>
  );
}
