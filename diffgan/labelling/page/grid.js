// A cluster at once: choose what its triggers show, take out those that do not, confirm.

import { get } from "./api.js";
import { byId, counted, imageOf, make } from "./dom.js";

export class Grid {
  #tiles = [];
  cluster = null;
  chosen = null;

  // nameOf(label) for people; confirm(cluster, ids, label) says it; open(id) shows one alone.
  constructor({ nameOf, confirm, open }) {
    Object.assign(this, { nameOf, confirmed: confirm, open });
    this.list = byId("tiles");
    this.list.addEventListener("keydown", (event) => this.#key(event));
    byId("confirm").addEventListener("click", () => this.confirm());
    byId("grid-invalid").addEventListener("click", () => this.choose("invalid"));
  }

  async show(cluster, annotator, predictions) {
    const { cell, members } = await get(`/api/clusters/${cluster}`, { annotator });
    this.cluster = cluster;
    const waiting = members.filter((one) => one.said === null);
    const done = members.filter((one) => one.said !== null);
    const said = cell && predictions ? `A says ${this.nameOf(cell[0])}, B says ${this.nameOf(cell[1])}. ` : "";
    byId("grid-title").textContent = `Cluster ${(cluster + 1).toLocaleString("en")}`;
    byId("grid-hint").textContent = `${counted(waiting.length, "trigger")} to label. ${said}Click those that do not belong; they stay for later.`;
    this.#tiles = waiting.map(({ id }, index) => this.#tile(id, index));
    this.list.replaceChildren(...this.#tiles.map((tile) => make("li", {}, [tile])));
    byId("done-tiles").replaceChildren(...done.map((one) => make("li", {}, [this.#doneTile(one)])));
    byId("done-part").hidden = !done.length;
    this.choose(mostOf(done.map((one) => one.said)));
    byId("grid-title").focus({ preventScroll: true });
  }

  choose(label) {
    this.chosen = label;
    this.picker?.mark(label);
    byId("grid-invalid").setAttribute("aria-pressed", String(label === "invalid"));
    this.#tell();
  }

  confirm() {
    const taken = this.#taken();
    if (this.chosen !== null && taken.length) this.confirmed(this.cluster, taken.map((tile) => tile.dataset.id), this.chosen);
  }

  #taken() {
    return this.#tiles.filter((tile) => tile.getAttribute("aria-pressed") !== "true");
  }

  #tell() {
    const count = this.#taken().length;
    const text = this.chosen === null ? "Choose a class first" : `Label ${count} as ${this.nameOf(this.chosen)}`;
    byId("confirm-text").textContent = this.#tiles.length ? text : "All are labelled";
    byId("confirm").disabled = this.chosen === null || !count;
  }

  #tile(id, index) {
    const tile = make("button", {
      type: "button", class: "tile", "data-id": id, "aria-pressed": "false", "aria-label": `Take out trigger ${index + 1}`, tabindex: index ? "-1" : "0",
    }, [make("img", { src: imageOf(id), alt: "", loading: "lazy" })]);
    tile.addEventListener("click", () => {
      tile.setAttribute("aria-pressed", String(tile.getAttribute("aria-pressed") !== "true"));
      this.#tell();
    });
    return tile;
  }

  #doneTile({ id, said }) {
    const name = this.nameOf(said);
    const tile = make("button", { type: "button", class: "tile", "aria-label": `Change ${name}` }, [
      make("img", { src: imageOf(id), alt: "", loading: "lazy" }), make("small", { text: name }),
    ]);
    tile.addEventListener("click", () => this.open(id));
    return tile;
  }

  // Arrows move among the tiles, Enter confirms; Space toggles, as on any button.
  #key(event) {
    const at = this.#tiles.indexOf(document.activeElement);
    if (at < 0) return;
    const columns = getComputedStyle(this.list).gridTemplateColumns.split(" ").length;
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (event.key === "Enter") this.confirm();
    else if (step === undefined) return;
    else this.#focus(Math.max(0, Math.min(this.#tiles.length - 1, at + step)));
    event.preventDefault();
    event.stopPropagation();
  }

  #focus(index) {
    this.#tiles.forEach((tile, place) => tile.setAttribute("tabindex", place === index ? "0" : "-1"));
    this.#tiles[index].focus();
  }
}

// What most of the labelled ones were called; null for none.
export function mostOf(labels) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1])[0]?.[0] ?? null;
}
