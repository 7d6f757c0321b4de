// The value of one sample: text, a JSON tree, numbers or items.

import type { Tensor } from "../../data/protocol";
import type { Sample } from "../../data/samples";
import { arrayLines, describe } from "../text/describe";
import { formatCount } from "../text/format";
import { Json } from "./json";

const shownItems = 50;
const shownValues = 2000;

export function SampleValue({ sample, tensor, whole }: {
  sample: Sample | undefined; tensor: Tensor; whole: boolean;
}) {
  if (!sample) return null;
  switch (sample.kind) {
    case "text":
      return <div class="text-value">{sample.text}{!sample.whole && <span class="quiet"> … cut</span>}</div>;
    case "json":
      return sample.value === undefined ? <div class="text-value">{sample.text}</div>
        : <Json value={sample.value} />;
    case "array": {
      const scalar = sample.shape.length === 0 || sample.data.length === 1;
      const picture = ["image", "mask", "segments"].includes(tensor.draw);
      if (scalar || (picture && !whole)) return <div class="number-value">{describe(sample, tensor)}</div>;
      return <ArrayValue sample={sample} tensor={tensor} />;
    }
    case "items":
      return (
        <details class="items-value">
          <summary>{formatCount(sample.count, "item")}</summary>
          {sample.items.slice(0, shownItems).map((item, i) => item &&
            <div key={i} class="item"><span class="quiet">{i}</span>
              <SampleValue sample={item} tensor={tensor} whole={whole} /></div>)}
        </details>
      );
    case "error":
      return <p class="fault">{sample.message}</p>;
    case "large":
      return (
        <>
          <div class="number-value">{describe(sample, tensor)}</div>
          {sample.width && sample.height && tensor.draw !== "video" &&
            <div class="quiet">The grid has no thumbnail of it: open it, or store it with downsample=</div>}
        </>
      );
    default:
      return <div class={sample.kind === "missing" ? "quiet" : "number-value"}>{describe(sample, tensor)}</div>;
  }
}

function ArrayValue({ sample, tensor }: {
  sample: Extract<Sample, { kind: "array" }>; tensor: Tensor;
}) {
  const lines = arrayLines(sample, tensor, shownValues);
  return (
    <>
      <div class="quiet">{sample.dtype} ({sample.shape.join(", ")}{sample.shape.length === 1 && ","})</div>
      <pre class="array-value" tabIndex={0}>{lines.join("\n")}
        {sample.data.length > shownValues && `\n… of ${formatCount(sample.data.length, "value")}`}</pre>
    </>
  );
}
