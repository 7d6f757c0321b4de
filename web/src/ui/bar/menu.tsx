// The menu of a narrow window: a button that opens a group of actions below it.

import { useEffect, useRef } from "preact/hooks";
import { useApp, useModel } from "../hooks/app";
import { Icon, IconButton } from "../widgets/icons";
import { CellSize, GoTo, useActions, useQueryActions, type Action } from "./actions";

const id = "more-actions";

export function Menu() {
  const model = useModel();
  const open = useApp((s) => s.menu);
  const box = useRef<HTMLDivElement>(null);
  const page = useActions();
  const ofQuery = useQueryActions();
  const explain: Action = { icon: "branch", title: "Explain the query", label: "", run: () => void model.queries.explain() };
  useEffect(() => {
    if (!open) return;
    const outside = (e: Event): void => {
      if (!(e.target instanceof Node && box.current?.contains(e.target))) model.set({ menu: false });
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, [open, model]);
  useEffect(() => () => model.set({ menu: false }), [model]);
  const close = (): void => {
    // A dialog that opens now gives the focus back to the button.
    box.current?.querySelector("button")?.focus();
    model.set({ menu: false });
  };
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.key !== "Escape" || !open) return;
    e.preventDefault();
    e.stopPropagation();
    close();
  };
  return (
    <div ref={box} class="menu" onKeyDown={onKeyDown}>
      <IconButton icon="menu" label="More actions" testid="menu" expanded={open} controls={open ? id : undefined}
        onClick={() => model.set({ menu: !open })} />
      {open && <div id={id} class="menu-items" role="group" aria-label="More actions" data-testid="menu-items">
        <GoTo gone={close} />
        <CellSize />
        {[explain, ...ofQuery, ...page].map(({ icon, title, pressed, run }) => (
          <button key={title} type="button" class="menu-item" aria-pressed={pressed}
            onClick={() => { close(); run(); }}><Icon name={icon} />{title}</button>))}
      </div>}
    </div>
  );
}
