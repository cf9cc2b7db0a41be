// Choosing a class: a button and a key each, or a search where there are more than ten.

import { byId, make } from "./dom.js";

const LISTED = 8;
let made = 0;

// The classes that a text may mean, the likeliest first.
export function matches(classes, text, limit = LISTED) {
  const wanted = text.trim().toLowerCase();
  const ranked = [];
  classes.forEach((name, label) => {
    const lower = name.toLowerCase();
    let rank = 4;
    if (lower === wanted) rank = 0;
    else if (lower.startsWith(wanted)) rank = 1;
    else if (lower.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted))) rank = 2;
    else if (lower.includes(wanted) || String(label) === wanted) rank = 3;
    if (rank < 4) ranked.push([rank, label]);
  });
  return ranked.sort((one, other) => one[0] - other[0] || one[1] - other[1]).slice(0, limit).map(([, label]) => label);
}

export class ClassButtons {
  constructor(place, { classes, keys, onPick }) {
    this.buttons = classes.map((name, label) => {
      const button = make("button", { type: "button", title: name }, [make("span", { text: name }), make("kbd", { text: keys[label] })]);
      button.addEventListener("click", () => onPick(label));
      return button;
    });
    const isShort = classes.every((name) => name.length < 3);
    place.append(make("div", { class: `class-buttons${isShort ? " short" : ""}`, role: "group", "aria-label": "Classes" }, this.buttons));
  }

  mark(chosen) {
    this.buttons.forEach((button, label) => button.setAttribute("aria-pressed", String(label === chosen)));
  }

  enable(can) {
    for (const button of this.buttons) button.disabled = !can;
  }

  focus() {}
}

export class ClassSearch {
  #active = 0;
  #listed = [];

  // recent: labels, the latest first, shared by all searches. onCommand(event) is asked first while nothing is typed;
  // Enter alone takes the latest class, or does what onEmptyEnter says.
  constructor(place, { classes, recent, onPick, onCommand, onEmptyEnter = null }) {
    Object.assign(this, { classes, recent, onPick, onCommand, onEmptyEnter });
    this.name = `options-${(made += 1)}`;
    this.input = make("input", {
      type: "text", role: "combobox", placeholder: "Type a class …", "aria-label": "Class", autocomplete: "off",
      autocapitalize: "off", spellcheck: "false", "aria-autocomplete": "list", "aria-controls": this.name, "aria-expanded": "false",
    });
    this.list = make("ul", { id: this.name, class: "options", role: "listbox", "aria-label": "Classes" });
    this.chosen = make("p", { class: "picked", hidden: true });
    place.append(make("div", { class: "search" }, [this.chosen, this.input, this.list]));
    this.input.addEventListener("input", () => this.#show());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.#show();
  }

  mark(chosen) {
    this.chosen.hidden = chosen === null || chosen === "invalid";
    this.chosen.textContent = this.chosen.hidden ? "" : this.classes[chosen];
    this.clear();
  }

  enable(can) {
    this.input.disabled = !can;
  }

  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.input.focus({ preventScroll: true });
  }

  clear() {
    this.input.value = "";
    this.#show();
  }

  #pick(label) {
    const others = this.recent.filter((one) => one !== label);
    this.recent.splice(0, this.recent.length, label, ...others.slice(0, LISTED - 1));
    this.clear();
    this.onPick(label);
  }

  #key(event) {
    if (event.isComposing) return;
    const typed = this.input.value.trim();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.#active = Math.max(0, Math.min(this.#listed.length - 1, this.#active + (event.key === "ArrowDown" ? 1 : -1)));
      this.#draw();
    } else if (event.key === "Enter") {
      if (this.#listed[this.#active] !== undefined) this.#pick(this.#listed[this.#active]);
      else if (!typed) this.onEmptyEnter?.();
    } else if (event.key === "Escape" && typed) {
      this.clear();
    } else if (this.input.value || !this.onCommand(event)) {
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #show() {
    const typed = this.input.value.trim();
    this.#listed = typed ? matches(this.classes, typed) : [...this.recent];
    this.#active = typed || !this.onEmptyEnter ? 0 : -1;
    this.#draw();
  }

  #draw() {
    const typed = this.input.value.trim();
    const options = this.#listed.map((label, index) => {
      const hint = index !== this.#active ? "" : typed ? "Enter" : "Enter: again";
      const option = make("li", { id: `${this.name}-${index}`, class: "option", role: "option", "aria-selected": String(index === this.#active) }, [
        make("span", { text: this.classes[label] }), make("span", { class: "muted", text: hint }),
      ]);
      option.addEventListener("mousedown", (event) => event.preventDefault());
      option.addEventListener("click", () => this.#pick(label));
      return option;
    });
    if (typed && !options.length) options.push(make("li", { class: "none muted", text: "No class is called so." }));
    this.list.replaceChildren(...options);
    this.list.hidden = !options.length;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    if (this.#listed[this.#active] !== undefined) this.input.setAttribute("aria-activedescendant", `${this.name}-${this.#active}`);
    else this.input.removeAttribute("aria-activedescendant");
  }
}

export function makePicker(id, { classes, keys, ...others }) {
  return keys ? new ClassButtons(byId(id), { classes, keys, ...others }) : new ClassSearch(byId(id), { classes, ...others });
}
