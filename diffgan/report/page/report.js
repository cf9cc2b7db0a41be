"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [A, B, SURE_A, SURE_B, DIVERGENCE, ID, KEPT, CLUSTER, LABEL] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const PAGE = 72, GROUPS = 6, SVG = "http://www.w3.org/2000/svg";
  const at = (id) => document.getElementById(id);
  const name = (label) => (label < 0 ? "none" : data.names[label] ?? String(label));
  const count = (number) => number.toLocaleString("en");

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const said = (item) => (item[A] < 0 ? `divergence ${item[DIVERGENCE]}` : `A says ${name(item[A])}, B says ${name(item[B])}`);

  function thumb(number) {
    const place = number + data.first, text = said(data.items[number]);
    if (!data.sheet || place >= data.sheet[5]) return element("span", { class: "thumb none", role: "img", "aria-label": text });
    const [columns, stepX, stepY, width, height] = data.sheet;
    const picture = document.createElementNS(SVG, "svg"), use = document.createElementNS(SVG, "use");
    picture.setAttribute("class", "thumb");
    picture.setAttribute("viewBox", `${(place % columns) * stepX} ${Math.floor(place / columns) * stepY} ${width} ${height}`);
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", text);
    use.setAttribute("href", "#sheet");
    picture.append(use);
    return picture;
  }

  const labels = (item) => item[A] < 0 ? [String(item[DIVERGENCE])]
    : [element("b", { class: "a" }, name(item[A])), " / ", element("b", { class: "b" }, name(item[B]))];

  function plate(number) {
    return element("button", { type: "button", class: "plate", "data-item": number },
      thumb(number), element("span", { class: "says" }, ...labels(data.items[number])));
  }

  // The gallery

  const plates = at("plates"), more = at("more"), all = at("all"), status = at("shown");
  const everything = data.items.map((_, number) => number);
  let chosen = everything, drawn = 0;

  function draw() {
    plates.append(...chosen.slice(drawn, drawn + PAGE).map(plate));
    drawn = Math.min(chosen.length, drawn + PAGE);
    more.hidden = drawn >= chosen.length;
  }

  function show(numbers, text, isAll) {
    chosen = numbers;
    drawn = 0;
    plates.replaceChildren();
    status.textContent = text;
    all.hidden = isAll;
    draw();
  }

  function press(selector, is) {
    for (const button of document.querySelectorAll(selector)) button.setAttribute("aria-pressed", String(is(button)));
  }

  function showCell(a, b, total) {
    press("[data-a]", (button) => +button.dataset.a === a && +button.dataset.b === b);
    const found = everything.filter((number) => data.items[number][A] === a && data.items[number][B] === b);
    const of = total === undefined ? "" : ` (${total})`;
    show(found, `A says ${name(a)}, B says ${name(b)}${of}: ${count(found.length)} of them are in this report`, false);
    at("gallery").scrollIntoView();
  }

  function showCluster(cluster) {
    press("[data-a]", () => false);
    const found = everything.filter((number) => data.items[number][CLUSTER] === cluster);
    show(found, `Cluster ${cluster}: ${count(found.length)} images`, false);
    at("gallery").scrollIntoView();
  }

  function showAll() {
    press("[data-a]", () => false);
    show(everything, `${count(everything.length)} images`, true);
  }

  // One trigger, large

  function open(number) {
    const item = data.items[number], sure = (value) => (value === null ? "" : ` (${value})`);
    const facts = [["divergence", item[DIVERGENCE]], ["id", item[ID]]];
    if (item[A] >= 0) facts.unshift(["A says", name(item[A]) + sure(item[SURE_A])], ["B says", name(item[B]) + sure(item[SURE_B])]);
    if (data.filtered) facts.push(["filters", item[KEPT] ? "kept" : "dropped"]);
    if (item[CLUSTER] > 0) facts.push(["cluster", item[CLUSTER]]);
    if (item[LABEL] > -2) facts.push(["labelled", item[LABEL] === -1 ? "invalid" : name(item[LABEL])]);
    at("one-title").textContent = said(item);
    at("one-image").replaceChildren(thumb(number));
    at("one-facts").replaceChildren(...facts.flatMap(([key, value]) => [element("dt", {}, key), element("dd", {}, String(value))]));
    at("one").showModal();
  }

  // Cells by name, where there are too many for a matrix

  const list = at("cells"), find = at("find");
  const listed = list ? [...list.children] : [];

  function search() {
    const wanted = find.value.trim().toLowerCase();
    if (!wanted) { list.replaceChildren(...listed); return; }
    const fits = (label) => name(label).toLowerCase().includes(wanted);
    const found = data.cells.filter(([a, b]) => fits(a) || fits(b));
    list.replaceChildren(...found.slice(0, 60).map(([a, b, kept, total]) => element("li", {}, element("button",
      { type: "button", class: "kind", "data-a": a, "data-b": b, "aria-pressed": "false" },
      element("span", {}, element("b", { class: "a" }, name(a)), " / ", element("b", { class: "b" }, name(b))),
      element("span", { class: "amount" }, data.filtered ? `${count(kept)} of ${count(total)}` : count(total))))));
    at("cells-note").textContent = `${count(found.length)} pairs with “${find.value.trim()}”${found.length > 60 ? ", 60 shown" : ""}`;
  }

  // The map

  const map = at("chart-map"), hover = at("hover"), ring = at("ring");
  const points = map ? [...map.querySelectorAll("[data-item]")] : [];
  let current = -1;

  function point(place) {
    current = place;
    hover.hidden = place < 0;
    ring.toggleAttribute("hidden", place < 0);
    if (place < 0) return;
    const circle = points[place], item = data.items[circle.dataset.item];
    for (const side of ["cx", "cy"]) ring.setAttribute(side, circle.getAttribute(side));
    hover.replaceChildren(thumb(+circle.dataset.item), element("span", {}, ...labels(item)),
      element("span", { class: "muted" }, item[CLUSTER] > 0 ? `cluster ${item[CLUSTER]}` : "in no cluster"));
    const box = map.getBoundingClientRect(), spot = circle.getBoundingClientRect();
    const right = spot.left - box.left > box.width / 2;
    hover.style.left = right ? "auto" : `${spot.right - box.left + 14}px`;
    hover.style.right = right ? `${box.right - spot.left + 10}px` : "auto";
    hover.style.top = `${Math.max(4, Math.min(spot.top - box.top - 40, box.height - 170))}px`;
  }

  if (map) {
    map.addEventListener("pointermove", (event) => point(points.indexOf(event.target)));
    map.addEventListener("pointerleave", () => point(-1));
    map.addEventListener("blur", () => point(-1));
    map.addEventListener("click", (event) => { if (event.target.dataset.item) open(+event.target.dataset.item); });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) point((current + step + points.length) % points.length);
      else if (event.key === "Enter" && current >= 0) open(+points[current].dataset.item);
      else if (event.key === "Escape") point(-1);
      else return;
      event.preventDefault();
    });
  }

  // Clusters: the first few, and all on demand

  const groups = at("groups"), allGroups = at("all-groups");
  let isShort = allGroups !== null && groups.children.length > GROUPS;

  function fold() {
    if (!groups) return;
    [...groups.children].forEach((group, place) => { group.hidden = isShort && place >= GROUPS; });
    allGroups.hidden = !isShort;
  }

  function order(by) {
    groups.append(...[...groups.children].sort((one, other) => other.dataset[by] - one.dataset[by]));
    press(".order", (button) => button.dataset.order === by);
    fold();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.a !== undefined) {
      if (button.getAttribute("aria-pressed") === "true") showAll();
      else showCell(+button.dataset.a, +button.dataset.b, button.title.split(": ").pop() || button.querySelector(".amount")?.textContent);
    } else if (button.dataset.item !== undefined) open(+button.dataset.item);
    else if (button.dataset.cluster !== undefined) showCluster(+button.dataset.cluster);
    else if (button.dataset.order !== undefined) order(button.dataset.order);
    else if (button === more) draw();
    else if (button === all) showAll();
    else if (button === allGroups) {
      isShort = false;
      fold();
      [...groups.children][GROUPS].querySelector("button").focus({ preventScroll: true });
    }
  });
  fold();
  if (find) find.addEventListener("input", search);
  if (plates && data.items.length > plates.children.length) {
    drawn = plates.children.length;
    more.hidden = false;
  }
})();
