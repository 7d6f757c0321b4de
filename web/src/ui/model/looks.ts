// Changes how rows are shown: the mode, the size of cells, and the layers.

import type { Layer } from "../../draw/api";
import { hiddenClasses } from "./hiding";
import { hiddenNames, layerOf, withLayer } from "./layers";
import type { Navigation } from "./navigation";
import type { Page } from "./page";
import { clampCell, modeOf, type Mode } from "./place";

export class Looks {
  constructor(private readonly page: Page, private readonly navigation: Navigation) {}

  setMode(mode: Exclude<Mode, "">): void {
    const { place, primary } = this.page.get();
    if (modeOf(place.mode, primary) === mode) return;
    this.navigation.step({ mode, row: mode === "single" && place.row < 0 ? place.first : place.row });
  }

  setCell(pixels: number): void {
    const cell = clampCell(pixels);
    this.page.grid?.setCell(cell);
    this.navigation.move({ cell });
  }

  setLayer(name: string, change: Partial<Layer>): void {
    const layers = withLayer(this.page.get().layers, name, change);
    this.page.set({ layers });
    if (change.visible !== undefined) this.navigation.move({ hidden: hiddenNames(layers) });
    if (change.hidden !== undefined) this.navigation.move({ classes: hiddenClasses(layers) });
  }

  toggleLayer(name: string): void {
    this.setLayer(name, { visible: !layerOf(this.page.get().layers, name).visible });
  }

  /** Chooses the tensor whose pictures cells show. */
  showPictures(name: string): void {
    this.page.set({ primary: name });
    this.navigation.move({ picture: name, time: 0 });
  }
}
