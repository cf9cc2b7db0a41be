// All clusters, with an image of each and how far one has come.

import { get } from "./api.js";
import { byId, counted, imageOf, make } from "./dom.js";

export class Overview {
  #annotator = null;
  #start = 0;

  constructor({ open }) {
    this.open = open;
    byId("more-clusters").addEventListener("click", () => this.#more());
  }

  async show(annotator) {
    Object.assign(this, { cards: byId("cluster-cards") });
    this.#annotator = annotator;
    this.#start = 0;
    this.cards.replaceChildren();
    await this.#more();
    byId("overview-title").focus({ preventScroll: true });
  }

  async #more() {
    const { clusters, total } = await get("/api/clusters", { annotator: this.#annotator, start: this.#start });
    this.#start += clusters.length;
    this.cards.append(...clusters.map((one) => make("li", {}, [this.#card(one)])));
    byId("overview-hint").textContent = `${counted(total, "cluster")} of like triggers. One label of each covers the run; a cluster opens as a grid.`;
    byId("more-clusters").hidden = this.#start >= total;
  }

  #card({ cluster, labelled, total, id }) {
    const bar = make("div");
    bar.style.width = `${(labelled / total) * 100}%`;
    const card = make("button", { type: "button", class: `cluster-card${labelled === total ? " complete" : ""}` }, [
      make("img", { src: imageOf(id), alt: "", loading: "lazy" }),
      make("b", { text: `Cluster ${(cluster + 1).toLocaleString("en")}` }),
      make("span", { class: "muted", text: `${labelled} of ${total}` }),
      make("div", { class: "track", "aria-hidden": "true" }, [bar]),
    ]);
    card.addEventListener("click", () => this.open(cluster));
    return card;
  }
}
