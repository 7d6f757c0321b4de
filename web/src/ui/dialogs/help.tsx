// The sheet of keys.

import { Dialog } from "../widgets/dialog";

const keys: readonly (readonly [string, string])[] = [
  ["Arrows, Page Up, Page Down, Home, End", "Move the selection"],
  ["Enter, double click", "Show the selected sample"],
  ["Escape", "Back to the grid; close"],
  ["Ctrl + wheel, pinch", "Larger or smaller cells; zoom in a sample"],
  ["n, p", "Next and previous sample, in the single view"],
  ["+, -, 0", "Zoom in, out, and fit, in the single view"],
  ["Shift + drag", "Draw a lasso on the map; Enter shows the nearest points"],
  ["Space", "Play a sequence or a video"],
  [", and .", "Previous and next item of a sequence, or frame of a video"],
  ["/", "Query box; Enter runs, Ctrl + Space completes"],
  ["g", "Go to a row or a slice"],
  ["t", "Table or grid"],
  ["v", "Versions"],
  ["[ and ]", "Show or hide the panels"],
  ["Arrows, Home, End in the classes or a histogram", "From one to the next"],
  ["Arrows, Home, End on a divider", "Width of a panel; before and after of a picture"],
  ["?", "This sheet"],
];

export function Help() {
  return (
    <Dialog title="Keys">
      <dl class="keys">{keys.map(([key, meaning]) => <div key={key}><dt>{key}</dt><dd>{meaning}</dd></div>)}</dl>
      <p class="quiet">A condition alone runs as SELECT * WHERE. The page reads the dataset and changes nothing.</p>
    </Dialog>
  );
}
