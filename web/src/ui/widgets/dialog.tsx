// A dialog over the page. The browser keeps the focus in it, and closes it by Escape.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { useModel } from "../hooks/app";
import { IconButton } from "./icons";

export function Dialog({ title, wide = false, children }: {
  title: string; wide?: boolean; children: ComponentChildren;
}) {
  const model = useModel();
  const ref = useRef<HTMLDialogElement>(null);
  const close = (): void => model.open("");
  useLayoutEffect(() => {
    const element = ref.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={ref} class={wide ? "dialog wide" : "dialog"} aria-label={title}
      onCancel={(e) => { e.preventDefault(); close(); }}
      onClick={(e) => { if (e.target === ref.current) close(); }}>
      <header class="dialog-head"><h2>{title}</h2><IconButton icon="close" label="Close (Escape)" onClick={close} /></header>
      <div class="dialog-body" tabIndex={0} role="group" aria-label={title}>{children}</div>
    </dialog>
  );
}
