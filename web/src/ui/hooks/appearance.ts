// The appearance of pictures and overlays, from the state of the page.

import { useMemo } from "preact/hooks";
import type { Stats, Tensor } from "../../data/protocol";
import type { Appearance, ColorBy } from "../../draw/api";
import { isColorable } from "../../draw/plan";
import { useApp } from "./app";
import { type Counted, useStats } from "./requests";

export function useAppearance(): Appearance {
  const primary = useApp((s) => s.primary);
  const layers = useApp((s) => s.layers);
  const dark = useApp((s) => s.dark);
  const pair = useApp((s) => s.place.pair);
  const color = useColor();
  return useMemo(() => {
    const [left, right] = pair;
    return { primary, layers, dark, ...(right === undefined ? {} : { pair: [left, right] }), ...(color ? { color } : {}) };
  }, [primary, layers, dark, pair, color]);
}

/** Returns the tensor that colours, and its statistics, which give the ends of the ramp. */
export function useColored(): { tensor: Tensor | undefined; stats: Counted } {
  const view = useApp((s) => s.view);
  const name = useApp((s) => s.place.color);
  const tensor = view?.tensors.find((one) => one.name === name && isColorable(one));
  return { tensor, stats: useStats(tensor ?? nothing, tensor !== undefined, true) };
}

const nothing = { name: "" };

/** Returns the range of the numbers; undefined: there is none, or it has not come. */
export function rangeOf(stats: Stats | undefined): { low: number; high: number } | undefined {
  const { min, max } = stats ?? {};
  return typeof min === "number" && typeof max === "number" ? { low: min, high: max } : undefined;
}

/** Returns the tensor that colours, with the ends of its ramp; undefined: classes colour shapes. */
export function useColor(): ColorBy | undefined {
  const { tensor, stats } = useColored();
  const { low, high } = rangeOf(stats.value) ?? {};
  return useMemo(() => {
    if (!tensor) return undefined;
    if (tensor.draw === "label") return { name: tensor.name, low: 0, high: 0 };
    return low === undefined || high === undefined ? undefined : { name: tensor.name, low, high };
  }, [tensor, low, high]);
}
