// One trigger, large, with what both models say of it.

import { byId, imageOf, make } from "./dom.js";

export function showTrigger(item, { complete, classes, total, fine }) {
  const image = byId("image");
  const placeholder = byId("placeholder");
  image.hidden = !item;
  placeholder.hidden = Boolean(item);
  byId("image").parentElement.classList.toggle("fine", fine);
  for (const id of ["invalid", "skip", "open-grid", "previous-cluster", "next-cluster"]) byId(id).disabled = !item;
  if (!item) {
    image.removeAttribute("data-id");
    placeholder.textContent = complete ? `All ${total.toLocaleString("en")} are labelled. New ones appear here while a search finds them.` : "Loading …";
    byId("cluster-name").textContent = "";
    byId("cluster-count").textContent = "";
    byId("former").hidden = true;
    for (const side of ["a", "b"]) byId(`model-${side}`).querySelector("ol").replaceChildren();
    return;
  }
  if (image.dataset.id !== item.id) {
    image.src = imageOf(item.id);
    image.alt = `Trigger ${item.id}`;
    image.dataset.id = item.id;
  }
  showCluster(item.cluster, item.count);
  const former = byId("former");
  former.hidden = item.said === null;
  former.textContent = item.said === null ? "" : `You have said: ${item.said === "invalid" ? "invalid" : classes[item.said]}.`;
  for (const side of ["a", "b"]) showModel(byId(`model-${side}`), item[side], classes);
}

export function showCluster(cluster, count) {
  byId("cluster-name").textContent = `Cluster ${(cluster + 1).toLocaleString("en")}`;
  byId("cluster-count").textContent = `${count.labelled} of ${count.total} labelled`;
}

export function showPredictions(shown) {
  byId("predictions").hidden = !shown;
  byId("predictions-hidden").hidden = shown;
  byId("toggle-predictions").setAttribute("aria-expanded", String(shown));
  byId("toggle-predictions").firstElementChild.textContent = shown ? "Hide" : "Show";
}

function percent(share) {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}

function showModel(place, { label, top }, classes) {
  const rows = [...top].sort((one, other) => (other[0] === label) - (one[0] === label));
  place.querySelector("ol").replaceChildren(
    ...rows.map(([number, share]) => {
      const bar = make("i");
      bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
      const name = classes[number] ?? String(number);
      return make("li", {}, [
        make("span", { text: name, title: name }), make("span", { class: "share", text: percent(share) }),
        make("span", { class: "bar-line", "aria-hidden": "true" }, [bar]),
      ]);
    }),
  );
}
