// Which key does what. Up to ten classes have a key each; with more, letters are for the search.

const ALWAYS = {
  Delete: "invalid", " ": "skip", Backspace: "undo", ".": "predictions", ",": "grid", PageDown: "next",
  PageUp: "previous", "?": "help", Escape: "back",
};
const LETTERS = { x: "invalid", z: "undo", p: "predictions", g: "grid", c: "overview", "]": "next", "[": "previous" };
const SHOWN = {
  keys: { invalid: "x", skip: "Space", undo: "z", predictions: "p", grid: "g", overview: "c", next: "]", previous: "[" },
  search: { invalid: "Del", skip: "Space", undo: "Bksp", predictions: ".", grid: ",", next: "PgDn", previous: "PgUp" },
};
const MEANING = {
  invalid: "no class: the image is invalid", skip: "skip; it comes again at the end", undo: "take back the last step",
  predictions: "show or hide what the models say", grid: "show the whole cluster", overview: "all clusters",
  next: "next cluster", previous: "previous cluster",
};

// A key for each class; null where there are too many. Digits are their own keys, even where they do not begin with 1.
export function classKeys(classes) {
  if (classes.length > 10) return null;
  const own = classes.every((name) => /^[0-9]$/.test(name)) && new Set(classes).size === classes.length;
  return own ? [...classes] : classes.map((_, index) => String((index + 1) % 10));
}

// The class that a key stands for; -1 for none. In the row of digits it is the place that counts, where it is not a digit's.
export function classOf(event, keys) {
  if (!keys || event.ctrlKey || event.metaKey || event.altKey) return -1;
  const at = keys.indexOf(event.key);
  return at >= 0 || event.shiftKey ? at : keys.indexOf(/^Digit(.)$/.exec(event.code)?.[1]);
}

export function actionOf(event, mode) {
  if ((event.ctrlKey || event.metaKey) && event.key === "z") return "undo";
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  return ALWAYS[event.key] ?? (mode === "keys" ? LETTERS[event.key.toLowerCase()] : null) ?? null;
}

export const shownKey = (action, mode) => SHOWN[mode][action] ?? "";

export function helpLines(mode, classes, keys) {
  const own = keys?.every((key, index) => key === classes[index]);
  const lines = own ? [[`${keys[0]} … ${keys.at(-1)}`, "that class"]] : keys
    ? classes.map((name, index) => [keys[index], name])
    : [["letters", "search a class; Enter takes the first"], ["Enter", "the same class again"]];
  for (const [action, key] of Object.entries(SHOWN[mode])) lines.push([key, MEANING[action]]);
  lines.push(["Esc", "back to one trigger"], ["?", "these keys"]);
  return lines;
}
