// The query box: text that grows, completion, history, and errors at their place.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApp, useModel } from "../hooks/app";
import { complete, exampleOf, type Completion } from "../text/complete";
import { IconButton } from "../widgets/icons";
import { useQueryActions } from "./actions";

const tallest = 240;

/** `narrow`: there is room for the text and Run alone. */
export function QueryBox({ narrow = false }: { narrow?: boolean }) {
  const model = useModel();
  const draft = useApp((s) => s.draft);
  const running = useApp((s) => s.running);
  const fault = useApp((s) => s.fault);
  const query = useApp((s) => s.place.query);
  const actions = useQueryActions();
  const root = useApp((s) => s.root);
  const words = useApp((s) => s.words);
  const example = useMemo(() => exampleOf(root?.tensors ?? [], words.keywords), [root, words]);
  const box = useRef<HTMLTextAreaElement>(null);
  const [found, setFound] = useState<Completion | null>(null);
  const [active, setActive] = useState(-1);
  const caret = useRef(-1);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (caret.current >= 0) element.setSelectionRange(caret.current, caret.current);
    caret.current = -1;
    fitHeight(element);
  }, [draft]);
  // Another width breaks the text into other lines.
  useEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver === "undefined") return;
    let width = -1;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      fitHeight(element);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const close = (): void => {
    setFound(null);
    setActive(-1);
  };
  const suggest = (asked = false): void => {
    const element = box.current;
    if (!element) return;
    const { root, words } = model.get();
    setFound(complete(element.value, element.selectionStart, root?.tensors ?? [], words, asked));
    setActive(-1);
  };
  const write = (text: string, at = text.length): void => {
    caret.current = at;
    model.set({ draft: text });
    close();
  };
  const accept = (index: number): void => {
    const option = found?.options[index];
    if (!found || !option) return;
    const text = draft.slice(0, found.from) + option.insert + draft.slice(found.to);
    write(text, found.from + option.insert.length);
    box.current?.focus();
  };
  const run = (): void => {
    close();
    void model.queries.run(box.current?.value ?? draft);
  };

  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.isComposing) return;
    if (completionKey(e)) {
      e.preventDefault();
      e.stopPropagation();
      return;
    }
    if (e.key === "Enter" && !e.shiftKey && !e.altKey) {
      e.preventDefault();
      run();
    } else if (e.key === " " && e.ctrlKey) {
      e.preventDefault();
      suggest(true);
    } else if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      historyKey(e);
    } else if (e.key === "Escape") {
      e.stopPropagation();
      box.current?.blur();
    }
  };
  const completionKey = (e: KeyboardEvent): boolean => {
    if (!found) return false;
    const count = found.options.length;
    const plainEnter = e.key === "Enter" && !e.ctrlKey && !e.metaKey && !e.shiftKey;
    if (e.key === "ArrowDown") setActive((active + 1) % count);
    else if (e.key === "ArrowUp") setActive(active <= 0 ? count - 1 : active - 1);
    else if (e.key === "Escape") close();
    else if (e.key === "Tab" && !e.shiftKey) accept(Math.max(0, active));
    else if (plainEnter && active >= 0) accept(active);
    else return false;
    return true;
  };
  const historyKey = (e: KeyboardEvent): void => {
    const element = box.current;
    if (!element || e.shiftKey || e.ctrlKey || e.metaKey || e.altKey) return;
    const { value, selectionStart } = element;
    const atFirst = !value.slice(0, selectionStart).includes("\n");
    const atLast = !value.slice(selectionStart).includes("\n");
    const text = e.key === "ArrowUp" ? (atFirst ? model.queries.history.back(value) : undefined)
      : atLast ? model.queries.history.forward() : undefined;
    if (text === undefined) return;
    e.preventDefault();
    write(text);
  };
  return (
    <form class="query" role="search" aria-label="Query" onSubmit={(e) => { e.preventDefault(); run(); }}>
      <div class="query-line">
        <textarea ref={box} class="query-text" rows={1} spellcheck={false} autocomplete="off"
          autocapitalize="off" value={draft} data-testid="query" aria-label="Query in TQL"
          placeholder={example} title="TQL: a condition, or SELECT …"
          aria-autocomplete="list" aria-haspopup="listbox" aria-controls="query-options"
          aria-activedescendant={found && active >= 0 ? `query-option-${active}` : undefined}
          aria-invalid={fault !== null} aria-describedby={fault ? "query-fault" : undefined}
          onInput={(e) => { model.set({ draft: e.currentTarget.value, fault: null }); suggest(); }}
          onKeyDown={onKeyDown} onClick={close} onBlur={close} />
        {(draft !== "" || query !== "") &&
          <IconButton icon="close" label="Clear the query and show all rows" class="clear"
            onClick={() => { write(""); void model.queries.run(""); }} />}
        <button type="submit" class="primary" data-testid="run" aria-busy={running}>
          {running ? "Running…" : "Run"}</button>
        {!narrow && <button type="button" class="plain" onClick={() => void model.queries.explain()}>Explain</button>}
        {!narrow && actions.map(({ icon, label, run }) =>
          <IconButton key={icon} icon={icon} label={label} testid={icon} onClick={run} />)}
      </div>
      <Options found={found} active={active} accept={accept} />
      {fault && <div id="query-fault" class="fault" role="alert" data-testid="error">
        <span>{fault.message}</span>
        {fault.column >= 0 && <pre aria-hidden="true">{fault.line}{"\n"}{" ".repeat(fault.column)}^</pre>}
      </div>}
    </form>
  );
}

/** Makes the box as high as its text; it must shrink first to measure that. */
function fitHeight(element: HTMLTextAreaElement): void {
  element.style.setProperty("height", "auto");
  const border = element.offsetHeight - element.clientHeight;
  element.style.setProperty("height", `${Math.min(tallest, element.scrollHeight + border)}px`);
}

function Options({ found, active, accept }: {
  found: Completion | null; active: number; accept: (index: number) => void;
}) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView?.({ block: "nearest" });
  }, [active]);
  return (
    <ul ref={list} id="query-options" class="options" role="listbox" aria-label="Completions"
      hidden={found === null}>
      {found?.options.map((option, i) => (
        <li key={`${option.kind} ${option.label}`} id={`query-option-${i}`} role="option"
          aria-selected={i === active} class={`option option-${option.kind}`}
          // The box keeps the focus.
          onPointerDown={(e) => e.preventDefault()} onClick={() => accept(i)}>
          <span class="option-label">{option.label}</span>
          <span class="option-detail">{option.detail}</span>
        </li>))}
    </ul>
  );
}
