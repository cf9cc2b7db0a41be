// Who labels: the list of names, and a dialog for a new one.

import { get, reason } from "./api.js";
import { byId, make } from "./dom.js";

const NEW = "\u0000new";

export class Annotators {
  // key: where this tab remembers the name; switched(name) is told of another one.
  constructor(run, switched) {
    this.key = `annotator of ${run.run}`;
    this.names = new Set([...Object.keys(run.annotators), run.annotator]);
    this.name = sessionStorage.getItem(this.key) ?? run.annotator;
    this.switched = switched;
    this.dialog = byId("new-annotator");
    this.fault = byId("new-annotator-fault");
    byId("annotator").addEventListener("change", (event) => this.#choose(event.target));
    byId("new-annotator-cancel").addEventListener("click", () => this.dialog.close());
    byId("new-annotator-form").addEventListener("submit", (event) => this.#take(event));
    this.#list();
    if (run.shared && !sessionStorage.getItem(this.key)) this.#ask();
  }

  #choose(list) {
    if (list.value !== NEW) this.#switch(list.value);
    else {
      list.value = this.name;
      this.#ask();
    }
    list.blur();
  }

  #ask() {
    this.fault.hidden = true;
    this.dialog.showModal();
  }

  async #take(event) {
    event.preventDefault();
    try {
      const { name } = await get("/api/annotator", { name: byId("new-annotator-name").value });
      this.dialog.close();
      this.#switch(name);
    } catch (error) {
      this.fault.textContent = reason(error);
      this.fault.hidden = false;
    }
  }

  #switch(name) {
    this.name = name;
    sessionStorage.setItem(this.key, name);
    this.#list();
    this.switched();
  }

  #list() {
    this.names.add(this.name);
    const names = [...this.names].sort().map((name) => make("option", { value: name, text: name }));
    byId("annotator").replaceChildren(...names, make("option", { value: NEW, text: "another name …" }));
    byId("annotator").value = this.name;
  }
}
