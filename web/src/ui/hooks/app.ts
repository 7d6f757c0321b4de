// The model and the state of the page, for components.

import { createContext } from "preact";
import { useContext, useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Model } from "../model/model";
import type { State } from "../model/state";

export const ModelContext = createContext<Model | null>(null);

export function useModel(): Model {
  const model = useContext(ModelContext);
  if (!model) throw new Error("there is no model around this component");
  return model;
}

/** Returns a part of the state; the component is drawn again when that part changes. */
export function useApp<T>(select: (state: State) => T): T {
  const model = useModel();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const latest = useRef({ select, value: select(model.get()) });
  latest.current = { select, value: select(model.get()) };
  useLayoutEffect(() => {
    const check = (): void => {
      const { select, value } = latest.current;
      if (!Object.is(select(model.get()), value)) redraw(0);
    };
    // The state may have changed between drawing and this effect.
    check();
    return model.state.subscribe(check);
  }, [model]);
  return latest.current.value;
}
