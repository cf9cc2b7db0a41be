// Small helpers for elements. Text from a run goes in as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export const imageOf = (id) => `/images/${id}.png`;

export const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

let fading = null;

// Said to everybody: seen at the bottom, and read aloud.
export function announce(text) {
  const toast = byId("said");
  toast.textContent = text;
  toast.classList.remove("gone");
  clearTimeout(fading);
  fading = setTimeout(() => toast.classList.add("gone"), 2500);
}
