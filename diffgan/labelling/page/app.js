// The page: what is shown, what is said, and which key leads where.

import { Annotators } from "./annotators.js";
import { belongTo, get, Outbox } from "./api.js";
import { makePicker } from "./classes.js";
import { announce, byId, counted, make } from "./dom.js";
import { Grid } from "./grid.js";
import { actionOf, classKeys, classOf, helpLines, shownKey } from "./keys.js";
import { Overview } from "./overview.js";
import { Queue } from "./queue.js";
import { showCluster, showPredictions, showTrigger } from "./single.js";
import { hideRetry, showFault, showSaved, showTally } from "./status.js";

const POLL_MILLISECONDS = 3000;
const FINE_PIXELS = 160;

history.replaceState(null, "", location.pathname); // the token stays in the cookie alone
const run = await get("/api/run").catch((error) => {
  showFault(error, false);
  throw error;
});
belongTo(run.identity);
const classes = run.classes;
const keys = classKeys(classes);
const mode = keys ? "keys" : "search";
const nameOf = (label) => (label === "invalid" ? "invalid" : classes[label]);
const recent = [];
byId("order").value = localStorage.getItem("order") ?? "spread";
let order = byId("order").value || "spread";
let predictions = localStorage.getItem("predictions") !== "hidden";
let view = "single";
let tally = null;

const annotators = new Annotators(run, () => {
  show("single");
  queue.restart();
});
const outbox = new Outbox({
  onFault: (error) => showFault(error, true),
  onChange: (waiting) => {
    showSaved(waiting);
    if (!waiting) hideRetry();
  },
});
const queue = new Queue({
  load: async (cluster) => {
    const found = await get("/api/next", { annotator: annotators.name, order, cluster });
    adopt(found.tally);
    if (!outbox.waiting) hideRetry();
    return found.items;
  },
  settled: () => outbox.settled(),
  changed: () => draw(),
  failed: (error) => {
    showFault(error, true);
    setTimeout(() => queue.fill(), POLL_MILLISECONDS);
  },
});
const grid = new Grid({ nameOf, confirm: confirmCluster, open: openTrigger });
const overview = new Overview({ open: (cluster) => openGrid(cluster) });
const picker = makePicker("single-classes", {
  classes, keys, recent, onPick: (label) => say(label), onCommand,
});
grid.picker = makePicker("grid-classes", {
  classes, keys, recent, onPick: (label) => grid.choose(label), onCommand, onEmptyEnter: () => grid.confirm(),
});

// Saying

async function post(path, body) {
  const who = annotators.name;
  try {
    const done = await outbox.post(path, { annotator: who, ...body });
    if (who === annotators.name) adopt(done.tally);
    if (who === annotators.name && done.cluster && done.cluster.cluster === queue.current?.cluster) showCluster(done.cluster.cluster, done.cluster);
    return done;
  } catch (error) {
    showFault(error, false);
    queue.restart(queue.cluster);
    return null;
  }
}

function say(label) {
  if (!queue.current) return;
  const item = queue.take();
  draw();
  announce(`Labelled ${nameOf(label)}`);
  post("/api/labels", { ids: [item.id], label });
}

function skip() {
  if (!queue.current) return;
  const item = queue.take();
  draw();
  announce("Skipped");
  post("/api/skip", { id: item.id });
}

async function undo() {
  const done = await post("/api/undo", {});
  if (!done) return;
  if (!done.undone) {
    announce("There is nothing to take back.");
    return;
  }
  const { item, ids, skipped } = done.undone;
  announce(skipped ? "The skip is taken back." : `${counted(ids.length, "label")} taken back.`);
  if (ids.length > 1) await queue.restart(item.cluster);
  queue.putFirst(item);
  if (view === "grid") openGrid(item.cluster);
}

async function confirmCluster(cluster, ids, label) {
  show("single");
  queue.clear(); // nothing of this cluster is to be labelled meanwhile
  const done = await post("/api/labels", { ids, label });
  if (done) announce(`${counted(ids.length, "trigger")} labelled ${nameOf(label)}`);
  queue.restart(cluster);
}

// Going about

async function openGrid(cluster = queue.current?.cluster) {
  if (cluster === undefined || cluster === null) return;
  await attempt(async () => {
    await outbox.settled();
    await grid.show(cluster, annotators.name, predictions);
    show("grid");
  });
}

function openTrigger(id) {
  return attempt(async () => {
    const item = await get(`/api/triggers/${id}`, { annotator: annotators.name });
    show("single");
    queue.putFirst(item);
  });
}

function openOverview() {
  return attempt(async () => {
    await outbox.settled();
    await overview.show(annotators.name);
    show("overview");
  });
}

function goToCluster(step) {
  return attempt(async () => {
    if (!queue.current) return;
    await outbox.settled();
    const { cluster } = await get("/api/neighbour", { annotator: annotators.name, cluster: queue.current.cluster, forward: step > 0 });
    if (cluster !== null) await queue.restart(cluster);
  });
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    showFault(error, false);
  }
}

function show(name) {
  view = name;
  for (const id of ["single", "grid", "overview"]) byId(id).hidden = id !== name;
  window.scrollTo(0, 0);
  if (name === "single") picker.focus();
  if (name === "grid") grid.picker.focus();
}

// Drawing

let polling = null;

function adopt(now) {
  tally = now;
  showTally(now);
}

function draw() {
  const item = queue.current;
  showTrigger(item, { complete: queue.complete, classes, total: tally?.triggers.total ?? 0, fine: Math.max(run.image.width, run.image.height) >= FINE_PIXELS });
  picker.enable(Boolean(item));
  clearTimeout(polling);
  if (queue.complete) polling = setTimeout(() => queue.fill(), POLL_MILLISECONDS);
  if (view === "single" && item && !document.querySelector("dialog[open]") && document.activeElement === document.body) picker.focus();
}

// Keys

const actions = {
  invalid: () => (view === "grid" ? grid.choose("invalid") : view === "single" && say("invalid")),
  skip: () => view === "single" && skip(),
  undo: () => undo(),
  predictions: () => togglePredictions(),
  grid: () => (view === "single" ? openGrid() : show("single")),
  overview: () => (view === "overview" ? show("single") : openOverview()),
  next: () => view === "single" && goToCluster(1),
  previous: () => view === "single" && goToCluster(-1),
  help: () => byId("help").showModal(),
  back: () => view !== "single" && show("single"),
};

// Does what a key stands for; false where it stands for nothing.
function onCommand(event) {
  const action = actionOf(event, mode);
  if (!action) return false;
  if (!event.repeat) actions[action]();
  return true;
}

function onKey(event) {
  const { target } = event;
  if (event.defaultPrevented || document.querySelector("dialog[open]") || target.matches("select, input")) return;
  if (target.matches("button") && (event.key === " " || event.key === "Enter")) return;
  const label = classOf(event, keys);
  if (label >= 0 && view !== "overview") {
    if (!event.repeat) view === "grid" ? grid.choose(label) : say(label);
  } else if (event.key === "Enter" && view === "grid") {
    if (!event.repeat) grid.confirm();
  } else if (!onCommand(event)) {
    if (!keys && event.key.length === 1 && view !== "overview") (view === "grid" ? grid.picker : picker).focus();
    return;
  }
  event.preventDefault();
}

function togglePredictions() {
  predictions = !predictions;
  localStorage.setItem("predictions", predictions ? "shown" : "hidden");
  showPredictions(predictions);
}

// Setting up

function setUpHelp() {
  for (const hint of document.querySelectorAll("[data-key]")) hint.textContent = shownKey(hint.dataset.key, mode);
  byId("help-list").replaceChildren(
    ...helpLines(mode, classes, keys).flatMap(([key, meaning]) => [make("dt", {}, [make("kbd", { text: key })]), make("dd", { text: meaning })]),
  );
}

function setUpButtons() {
  const clicks = {
    invalid: actions.invalid, skip, undo, "toggle-predictions": togglePredictions, "open-grid": () => openGrid(),
    "close-grid": () => show("single"), "open-overview": actions.overview, "close-overview": () => show("single"),
    "previous-cluster": actions.previous, "next-cluster": actions.next, "open-help": actions.help,
    "fault-close": () => { byId("fault").hidden = true; }, "fault-retry": () => { outbox.tryNow(); queue.fill(); },
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", () => act());
  // After a click, the space bar is the page's again; who goes by Tab keeps the place.
  document.addEventListener("click", (event) => event.detail && event.target.closest?.("button")?.blur());
  byId("order").addEventListener("change", (event) => {
    order = event.target.value;
    localStorage.setItem("order", order);
    event.target.blur();
    show("single");
    queue.restart();
  });
}

byId("run-name").textContent = run.run;
document.title = `${run.run} – labelling – diffgan`;
byId("model-a").querySelector("h3 span").textContent = run.model_a;
byId("model-b").querySelector("h3 span").textContent = run.model_b;
setUpHelp();
setUpButtons();
showPredictions(predictions);
document.addEventListener("keydown", onKey);
window.addEventListener("beforeunload", (event) => outbox.waiting && event.preventDefault());
queue.restart();
