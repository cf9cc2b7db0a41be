// The triggers that come next, with their images fetched before they are needed.

import { imageOf } from "./dom.js";

const LOW = 12;

export class Queue {
  #turn = 0;
  #filling = null;
  #acted = new Set();
  #images = new Map();
  items = [];
  cluster = null;
  complete = false;

  // load(cluster) gives the next triggers; settled() waits until all is said; changed() is told of a new first one.
  constructor({ load, settled, changed, failed }) {
    Object.assign(this, { load, settled, changed, failed });
  }

  get current() {
    return this.items[0] ?? null;
  }

  // The first one is done with; the next is there at once.
  take() {
    const [item, ...rest] = this.items;
    this.#acted.add(item.id);
    this.items = rest;
    if (rest.length < LOW) this.fill();
    return item;
  }

  putFirst(item) {
    this.#acted.delete(item.id);
    this.items = [item, ...this.items.filter((other) => other.id !== item.id)];
    this.#preload();
    this.changed();
  }

  clear() {
    this.#turn += 1;
    this.#filling = null;
    this.#acted.clear();
    Object.assign(this, { items: [], complete: false });
    this.changed();
  }

  restart(cluster = null) {
    this.cluster = cluster;
    this.clear();
    return this.fill();
  }

  fill() {
    if (!this.#filling) {
      const filling = this.#fill(this.#turn).finally(() => {
        if (this.#filling === filling) this.#filling = null;
      });
      this.#filling = filling;
    }
    return this.#filling;
  }

  async #fill(turn) {
    try {
      let found = await this.load(this.cluster);
      if (turn === this.#turn && !this.current && found.every((item) => this.#acted.has(item.id))) {
        await this.settled(); // what was put off comes round again
        this.#acted.clear();
        found = await this.load(this.cluster);
      }
      if (turn === this.#turn) this.#adopt(found);
    } catch (error) {
      if (turn === this.#turn) this.failed(error);
    }
  }

  #adopt(found) {
    const first = this.items.slice(0, 1);
    const fresh = found.filter((item) => !this.#acted.has(item.id) && item.id !== first[0]?.id);
    this.items = [...first, ...fresh];
    this.complete = !this.items.length;
    this.#preload();
    this.changed();
  }

  #preload() {
    const kept = new Map();
    for (const { id } of this.items) {
      const image = this.#images.get(id) ?? new Image();
      if (!image.src) image.src = imageOf(id);
      kept.set(id, image);
    }
    this.#images = kept;
  }
}
