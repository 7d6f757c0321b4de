// The actions of the bar at the top that a narrow window has in a menu.

import { useState } from "preact/hooks";
import { useApp, useModel } from "../hooks/app";
import { copyText } from "../hooks/browser";
import { nextTheme } from "../hooks/theme";
import type { Model } from "../model/model";
import { modeOf, largestCell, smallestCell } from "../model/place";
import { asQuery, pythonString } from "../text/tql";
import type { IconName } from "../widgets/icons";

export interface Action {
  icon: IconName;
  /** The text of a menu. */
  title: string;
  /** The name of a button without text. */
  label: string;
  pressed?: boolean;
  run: () => void;
}

/** The actions that concern the page. */
export function useActions(): Action[] {
  const model = useModel();
  const theme = useApp((s) => s.theme);
  const right = useApp((s) => s.right);
  const copyLink = async (): Promise<void> => {
    const link = model.navigation.link();
    model.say(await copyText(link) ? "Copied the link to this place" : `The browser forbids copying: ${link}`);
  };
  return [
    { icon: "link", title: "Copy the link", label: "Copy the link to this place", run: () => void copyLink() },
    { icon: theme === "auto" ? "auto" : theme === "dark" ? "moon" : "sun", title: `Colors: ${theme}`,
      label: `Colors: ${theme}`, run: () => model.set({ theme: nextTheme(theme) }) },
    { icon: "help", title: "Keys and help", label: "Keys and help (?)", run: () => model.open("help") },
    { icon: "panel", title: "Selected row", label: "Selected row (])", pressed: right.open,
      run: () => model.set({ right: { ...right, open: !right.open } }) },
  ];
}

/** Returns the actions that concern the query, besides running it. */
export function useQueryActions(): Action[] {
  const model = useModel();
  const saves = useApp((s) => s.view?.saves === true);
  const actions: Action[] = [
    { icon: "copy", title: "Copy as Python", label: "Copy as Python", run: () => void copyPython(model) },
  ];
  if (saves) actions.push({ icon: "save", title: "Save as a view", label: "Save as a view", run: () => model.open("save") });
  return actions;
}

async function copyPython(model: Model): Promise<void> {
  const text = asQuery(model.get().draft)?.text;
  const code = text === undefined ? "ds" : `ds.query(${pythonString(text)})`;
  model.say(await copyText(code) ? `Copied ${code}` : `The browser forbids copying: ${code}`);
}

/** The size of the cells of the grid; other modes have none. */
export function CellSize() {
  const model = useModel();
  const cell = useApp((s) => s.place.cell);
  const grid = useApp((s) => modeOf(s.place.mode, s.primary) === "grid");
  if (!grid) return null;
  return (
    <input type="range" class="cell" min={Math.log2(smallestCell)} max={Math.log2(largestCell)}
      step={0.125} value={Math.log2(cell)} aria-label="Size of cells" aria-valuetext={`${cell} pixels`}
      onInput={(e) => model.looks.setCell(Math.round(2 ** Number(e.currentTarget.value)))} />
  );
}

export function GoTo({ gone }: { gone?: () => void }) {
  const model = useModel();
  const [text, setText] = useState("");
  const go = (e: Event): void => {
    e.preventDefault();
    const fault = model.rows.goTo(text);
    if (fault) {
      model.say(fault);
      return;
    }
    setText("");
    gone?.();
  };
  return (
    <form class="go" onSubmit={go}>
      <input type="text" data-testid="go" placeholder="Go to" aria-label="Go to a row, as 123, or a slice, as 100:200"
        title="A row, as 123, or a slice, as 100:200" value={text} onInput={(e) => setText(e.currentTarget.value)} />
    </form>
  );
}
