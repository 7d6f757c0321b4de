// Places squares of a few sizes in layers of an array of textures, and forgets the oldest ones.

export interface Slot {
  page: number;
  layer: number;
  x: number;
  y: number;
  size: number;
  /** The last turn that used the slot. */
  stamp: number;
}

interface Layer {
  page: number;
  layer: number;
  /** 0: the layer is not cut into slots. */
  size: number;
  used: number;
  free: { x: number; y: number }[];
}

/** The sizes of slots are powers of two up to the side of a layer. */
export const smallestSlot = 32;

export class Slots<Key extends object> {
  private readonly layers: Layer[] = [];
  private readonly slots = new Map<Key, Slot>();
  private now = 0;

  constructor(readonly side: number, readonly layersPerPage: number,
    private readonly maxPages: number) {}

  get pages(): number {
    return this.layers.length / this.layersPerPage;
  }

  /** Starts a turn: slots that it does not use may be taken away. */
  begin(): void {
    this.now++;
  }

  get(key: Key): Slot | undefined {
    const slot = this.slots.get(key);
    if (slot) slot.stamp = this.now;
    return slot;
  }

  /** Takes a slot for a square of so many texels; undefined: this turn uses all of them. */
  take(key: Key, pixels: number): Slot | undefined {
    let size = smallestSlot;
    while (size < pixels && size < this.side) size *= 2;
    let layer = this.layerWithRoom(size);
    if (!layer && this.pages < this.maxPages) {
      this.addPage();
      layer = this.layerWithRoom(size);
    }
    while (!layer && this.dropOldest()) layer = this.layerWithRoom(size);
    const place = layer?.free.pop();
    if (!layer || !place) return undefined;
    layer.used++;
    const slot: Slot = { page: layer.page, layer: layer.layer, ...place, size, stamp: this.now };
    this.slots.set(key, slot);
    return slot;
  }

  private layerWithRoom(size: number): Layer | undefined {
    let uncut: Layer | undefined;
    for (const layer of this.layers) {
      if (layer.size === size && layer.free.length > 0) return layer;
      if (layer.size === 0) uncut ??= layer;
    }
    if (uncut) {
      uncut.size = size;
      for (let y = this.side - size; y >= 0; y -= size) {
        for (let x = this.side - size; x >= 0; x -= size) uncut.free.push({ x, y });
      }
    }
    return uncut;
  }

  private addPage(): void {
    const page = this.pages;
    for (let layer = 0; layer < this.layersPerPage; layer++) {
      this.layers.push({ page, layer, size: 0, used: 0, free: [] });
    }
  }

  /** Frees the older half of the slots that this turn did not use; false: it used all of them. */
  private dropOldest(): boolean {
    const idle = [...this.slots].filter(([, slot]) => slot.stamp !== this.now);
    idle.sort(([, a], [, b]) => a.stamp - b.stamp);
    const count = Math.ceil(idle.length / 2);
    for (const [key, slot] of idle.slice(0, count)) {
      this.slots.delete(key);
      this.release(slot);
    }
    return count > 0;
  }

  private release(slot: Slot): void {
    const layer = this.layers[slot.page * this.layersPerPage + slot.layer];
    layer.free.push({ x: slot.x, y: slot.y });
    if (--layer.used > 0) return;
    layer.size = 0;
    layer.free.length = 0;
  }
}
