// The captions of the single view: the tensors that a cell of the grid has lines for, whole.

import { useMemo } from "preact/hooks";
import type { Tensor } from "../../data/protocol";
import type { SampleStore } from "../../data/samples";
import type { Appearance } from "../../draw/api";
import { itemOf, planOf } from "../../draw/plan";
import { SampleValue } from "../widgets/value";

/** The drawing requests the samples. */
export function Captions({ store, appearance, row, itemOf: at }: {
  store: SampleStore; appearance: Appearance; row: number; itemOf: (tensor: Tensor) => number;
}) {
  const { captions } = useMemo(() => planOf(store.view, appearance), [store, appearance]);
  if (captions.length === 0) return null;
  return (
    <div class="captions" data-testid="captions" role="group" aria-label="Captions" tabIndex={0}>
      {captions.map((tensor) => (
        <div key={tensor.name} class="caption"><span class="quiet">{tensor.name}</span>
          <SampleValue sample={itemOf(store.peek(row, tensor.name), tensor, at(tensor))} tensor={tensor} whole /></div>))}
    </div>
  );
}
