"use strict";
// The page writes names and errors as text nodes only. It asks for nothing but snapshots, scopes of the graph, recorded steps
// and curves. A view that is asked for by itself (Timeline, Training, Graph) is drawn again when its answer comes; the others are
// drawn again with each snapshot.

const views = {};
let snapshot = null;
let chosen = "Overview";
let shown = "";
let scope = "";
let drawn = null;
let colour = "kind";
let searched = null;
let words = "";
let recorded = null;
let step = "";
let picture = null;
let zoom = null;
let curves = null;

async function ask(path) {
  try {
    return await (await fetch(path)).json();
  } catch {
    return {error: "The page's server does not answer."};
  }
}

const lively = new WeakSet(); // the elements that listen to something

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) { made.addEventListener(key.slice(2), value); lively.add(made); }
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

const element = (name, attributes, ...children) => filled(document.createElement(name), attributes, children);
const drawing = (name, attributes, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Makes what is in a place equal to what was made, and touches nothing that is so already: of a table that is drawn again with
// each snapshot the browser lays out the cells that have changed, and the focus and the scrolling stay.
function renew(place, made) {
  const kept = [...place.childNodes];
  made.forEach((fresh, at) => {
    if (typeof fresh === "string") fresh = document.createTextNode(fresh);
    const old = kept[at];
    if (!old) place.append(fresh);
    else if (!mayBecome(old, fresh)) old.replaceWith(fresh);
    else if (old.nodeType === Node.TEXT_NODE) { if (old.data !== fresh.data) old.data = fresh.data; }
    else {
      for (const {name, value} of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
      for (const {name} of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
      renew(old, [...fresh.childNodes]);
    }
  });
  for (const old of kept.slice(made.length)) old.remove();
}

// A listener knows what it was made for, so an element that has one stands for another only if both have the same key.
function mayBecome(old, fresh) {
  if (old.nodeName !== fresh.nodeName || old.nodeType === Node.ELEMENT_NODE && (old.hasAttribute("style") || fresh.hasAttribute("style"))) return false;
  return !lively.has(old) && !lively.has(fresh) || fresh.dataset.key !== undefined && old.dataset.key === fresh.dataset.key;
}

function bytes(count) {
  if (count === null || count === undefined) return "";
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (Math.abs(count) < 1000) return `${count >= 100 || unit === "B" ? Math.round(count) : count.toFixed(1)} ${unit}`;
    count /= 1000;
  }
  return `${count.toFixed(1)} TB`;
}

function seconds(time) {
  if (time === null || time === undefined || time === "") return "";
  if (time < 0.001) return `${Math.round(time * 1e6)} µs`;
  if (time < 1) return `${(time * 1000).toFixed(1)} ms`;
  if (time < 120) return `${time.toFixed(1)} s`;
  if (time < 7200) return `${Math.round(time / 60)} min`;
  return `${(time / 3600).toFixed(1)} h`;
}

// At most so many rows: each snapshot draws its view again.
const MOST_ROWS = 64;
const numbers = new Intl.NumberFormat("en"); // made once: `toLocaleString` makes one in each call
const number = (value) => (value === null || value === undefined ? "" : numbers.format(Math.round(value * 10) / 10));

// A table: rows of [text, or [text, class]], of which there may be more elsewhere; a heading that ends in # is of numbers.
function table(caption, headings, rows, none, all = rows.length) {
  if (!rows.length) return element("p", {class: "quiet"}, none);
  const numeric = headings.map((heading) => heading.endsWith("#"));
  const head = headings.map((heading, at) => element("th", {scope: "col", class: numeric[at] ? "number" : null}, heading.replace("#", "")));
  if (all > MOST_ROWS) caption = `${caption} (the first ${MOST_ROWS} of ${number(all)})`;
  const body = rows.slice(0, MOST_ROWS).map((row) => element("tr", {}, row.map((cell, at) => {
    const [text, kind] = Array.isArray(cell) ? cell : [cell, null];
    const shown = typeof text === "number" ? number(text) : text === null || text === undefined ? "" : String(text);
    if (text instanceof Node) return element("td", {}, text);
    return element("td", {class: [numeric[at] ? "number" : "", kind || ""].join(" ").trim() || null}, shown);
  })));
  return element("div", {class: "wide"}, element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

const tasks = () => Object.entries(snapshot.tasks);
const each = (field) => tasks().flatMap(([name, told]) => (told[field] || []).map((row) => [name, row]));
const stateOf = (told) => [told.state, told.state === "live" ? "good" : "bad"];

function card(label, value) {
  return element("div", {class: "card"}, element("b", {}, value), element("span", {}, label));
}

function curve(points, label, from) {
  const values = points.map(([, value]) => value);
  const least = from === undefined ? Math.min(...values) : from;
  const range = Math.max(1e-12, Math.max(...values) - least);
  const begin = points.length ? points[0][0] : 0;
  const width = Math.max(1e-9, points.length ? points[points.length - 1][0] - begin : 1);
  const path = points.map(([x, value], at) => `${at ? "L" : "M"}${(((x - begin) / width) * 1000).toFixed(1)},${((1 - (value - least) / range) * 95 + 2).toFixed(2)}`).join("");
  return drawing("svg", {class: "curve", viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": label}, drawing("path", {d: path}));
}

// The curve of steps a second, and its axes in words.
function rates(history) {
  const most = Math.max(0, ...history.map(([, rate]) => rate));
  const span = history.length ? history[history.length - 1][0] - history[0][0] : 0;
  const axes = `From 0 to ${number(most)} steps a second, over the last ${seconds(span)}.`;
  return [curve(history, `Steps a second over time. ${axes}`, 0), element("p", {class: "quiet"}, axes)];
}

views.Overview = () => {
  const all = tasks().map(([, told]) => told);
  const sum = (field) => all.reduce((total, told) => total + (told[field] || 0), 0);
  const live = all.filter((told) => told.state === "live").length;
  const held = each("devices").reduce((total, [, device]) => total + device.live_bytes, 0);
  return [
    element("div", {class: "cards"},
      card("tasks live", `${live} of ${all.length}`), card("steps a second", number(snapshot.steps_per_second)),
      card("steps in flight", number(sum("steps_in_flight"))), card("steps failed", number(sum("steps_failed"))),
      card("held by tensors", bytes(held)), card("memory of processes", bytes(sum("resident_bytes")))),
    element("h2", {}, "Steps a second"), ...rates(snapshot.history),
    element("h2", {}, "To look at"),
    snapshot.problems.length ? element("ul", {class: "problems"}, snapshot.problems.map((text) => element("li", {}, text))) : element("p", {class: "good"}, "Nothing is lost, starved or full."),
  ];
};

views.Tasks = () => [table("Tasks", ["task", "state", "address", "pid#", "epoch#", "view#", "up#", "devices#", "memory#", "steps#", "a second#", "in flight#", "failed#", "loop late#", "answers in#", ""],
  tasks().map(([name, told]) => [name, stateOf(told), told.address, told.pid === undefined ? "" : String(told.pid), told.epoch, told.view, seconds(told.uptime), (told.devices || []).length, bytes(told.resident_bytes), told.steps, told.steps_per_second, told.steps_in_flight, told.steps_failed, [seconds(told.loop_delay), told.loop_delay > 0.5 ? "warm" : ""], seconds(told.answer_seconds), [told.error || "", "text bad"]]), "No task has answered yet.")];

views.Steps = () => {
  const waiting = each("waiting");
  const parts = [table("Steps of each task", ["task", "begun#", "in flight#", "failed#", "cancelled#", "abandoned#", "nodes run#", "actors ready#", "running#", "waiting#", "on threads#", "kernels on threads now"],
    tasks().filter(([, told]) => told.steps !== undefined).map(([name, told]) => [name, told.steps, told.steps_in_flight, told.steps_failed, told.steps_cancelled, told.steps_abandoned, told.nodes, ...["ready", "runs", "waits", "on a thread"].map((state) => (told.actors || {})[state] || 0), [(told.kernels || []).join(", "), "text"]]), "No task has answered yet."),
    element("h2", {}, "Steps of the last seconds"), recordedSteps(), element("h2", {}, "What steps wait for")];
  if (!waiting.length) parts.push(element("p", {class: "quiet"}, "No step waits."));
  for (const [name, one] of waiting.slice(0, MOST_ROWS)) {
    const idle = one.idle === null ? "" : `, nothing of it has run for ${seconds(one.idle)}`;
    parts.push(element("p", {}, `Step ${one.step} on ${name}${idle}:`), element("pre", {}, one.lines.join("\n")));
  }
  return parts;
};

// A step that was not traced has nothing to show, and no link.
const stepName = (one) => one.traced ? element("button", {class: "link", "data-key": `step ${one.number}`, onclick: () => openStep(one.number)}, one.number) : [one.number, "quiet"];

function recordedSteps() {
  if (recorded === null) return element("p", {class: "quiet"}, "The tasks are being asked …");
  if (recorded.error) return element("p", {class: "quiet"}, recorded.error);
  const spent = Object.entries(recorded.busy || {});
  return element("div", {}, table("Those that were traced, failed, or took longer than a millisecond", ["step", "took#", "tasks#", "traced", "state"],
    recorded.steps.map((one) => [stepName(one), seconds(one.seconds), one.tasks, one.traced ? "yes" : "", [one.error.split("\n")[0].slice(0, 200), one.error === "under way" ? "text" : "text bad"]]), "The tasks remember none."),
    spent.length ? table("The devices of the placement: the time of their kernels in a traced step", ["device", "time#"], spent.map(([device, time]) => [device, seconds(time)]), "") : null);
}

let asking = false;
async function askForSteps() {
  if (asking) return;
  asking = true;
  recorded = await ask("steps.json");
  asking = false;
  if (chosen === "Steps") show();
}

// ---- the timeline of a step

const KINDS = ["run", "transfer", "queue", "dispatch", "rpc", "client", "runtime", "step", "predicted"];

async function openStep(name) {
  step = name;
  picture = null;
  zoom = null;
  chosen = "Timeline";
  location.hash = `step=${name}`;
  show();
  const found = await ask(`step.json?number=${encodeURIComponent(name)}`);
  if (step === name) { picture = found; show(); }
}

function move(by, size) {
  const [begin, end] = zoom || [0, picture.end];
  const width = Math.min(picture.end, Math.max(picture.end / 1e5, (end - begin) * size));
  const middle = (begin + end) / 2 + by * (end - begin);
  const first = Math.max(0, Math.min(picture.end - width, middle - width / 2));
  zoom = [first, first + width];
  show();
}

function timelineDrawing() {
  const [begin, end] = zoom || [0, picture.end];
  const wide = Math.max(320, Math.min(1500, document.documentElement.clientWidth - 40)), left = wide < 500 ? 112 : 176, high = 22;
  const scale = (wide - left) / Math.max(end - begin, 1e-9);
  const height = picture.lanes.length * high + 24;
  const labels = picture.lanes.map(([process, lane]) => (process === lane ? lane : `${process}: ${lane}`));
  const room = Math.floor((left - 8) / 6.2);
  const rows = labels.map((label, at) => drawing("text", {x: 4, y: at * high + 15, class: "small"}, label.length > room ? `${label.slice(0, room - 1)}…` : label, drawing("title", {}, label)));
  const stripes = picture.lanes.map((_, at) => drawing("rect", {class: at % 2 ? "lane odd" : "lane", x: left, y: at * high, width: wide - left, height: high}));
  const slices = [];
  for (const [lane, name, kind, from, to, args] of picture.slices) {
    if (to < begin || from > end) continue;
    const x = left + Math.max(0, from - begin) * scale, width = Math.max(1, (Math.min(to, end) - Math.max(from, begin)) * scale);
    const told = `${name}: ${seconds((to - from) / 1e6)}${Object.entries(args).map(([key, value]) => `\n${key}: ${String(value).slice(0, 300)}`).join("")}`;
    slices.push(drawing("rect", {class: `slice ${KINDS.includes(kind) ? kind : ""}`, x, y: lane * high + 3, width, height: high - 6, rx: 2}, drawing("title", {}, told)));
    if (width > 60) slices.push(drawing("text", {x: x + 4, y: lane * high + 15, class: "inside"}, name.slice(0, Math.floor(width / 7))));
  }
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => drawing("text", {class: "small", x: left + part * (wide - left), y: height - 6, "text-anchor": part === 1 ? "end" : "start"}, seconds((begin + part * (end - begin)) / 1e6) || "0"));
  return drawing("svg", {width: wide, height, viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": `Timeline of step ${step}; the table below has its longest parts.`}, stripes, rows, slices, ticks);
}

views.Timeline = () => {
  if (!step) return [element("p", {class: "quiet"}, "Choose a step in the view Steps. Tasks trace one step in 100.")];
  if (picture === null) return [element("p", {class: "quiet"}, `Step ${step} is being asked for …`)];
  if (picture.error) return [element("p", {class: "bad"}, picture.error)];
  const whole = Object.values(picture.path).reduce((sum, time) => sum + time, 0);
  const button = (text, label, by, size) => element("button", {"aria-label": label, "data-key": label, onclick: () => move(by, size)}, text);
  const longest = [...picture.slices].sort((a, b) => b[4] - b[3] - a[4] + a[3]).slice(0, 40);
  return [
    element("div", {class: "crumbs"}, element("b", {}, `Step ${step}`), button("+", "Zoom in", 0, 0.5), button("−", "Zoom out", 0, 2), button("←", "Earlier", -0.25, 1), button("→", "Later", 0.25, 1),
      element("a", {href: `step.pftrace?number=${encodeURIComponent(step)}`, download: ""}, "Download for Perfetto")),
    element("div", {class: "graph timeline"}, timelineDrawing()),
    element("p", {class: "legend"}, KINDS.map((kind) => element("span", {}, element("i", {class: `slice ${kind}`}), ` ${kind} `))),
    picture.left_out ? element("p", {class: "quiet"}, `${number(picture.left_out)} short parts are left out; the download has them.`) : null,
    element("h2", {}, "What the step waited for"),
    table("The critical path, from the step's begin to its end", ["kind", "time#", "share#"], Object.entries(picture.path).map(([kind, time]) => [kind, seconds(time), `${((100 * time) / whole).toFixed(1)} %`]), "Nothing of it was traced."),
    element("h2", {}, "The longest parts"),
    table("", ["what", "kind", "where", "began at#", "took#"], longest.map(([lane, name, kind, from, to]) => [name, kind, picture.lanes[lane].join(": "), seconds(from / 1e6), seconds((to - from) / 1e6)]), "Nothing of it was traced."),
  ].filter((part) => part !== null);
};

views.Channels = () => [table("Links between tasks, those that waited longest first", ["task", "peer", "direction", "transport", "sent#", "received#", "queued#", "credit#", "waits#", "waited#", "dropped#", "round trip#"],
  each("links").sort(([, a], [, b]) => b.wait_seconds - a.wait_seconds).map(([name, link]) => [name, link.peer, link.direction, link.transport, bytes(link.bytes_sent), bytes(link.bytes_received), link.queued, bytes(link.credit_bytes), link.waits, seconds(link.wait_seconds), [link.dropped, link.dropped ? "warm" : ""], seconds(link.round_trip)]), "There are no links.", snapshot.links)];

views.Queues = () => [table("Queues", ["queue", "task", "elements#", "capacity#", "wait to put#", "wait to take#", "state"],
  each("queues").map(([name, queue]) => [queue.name, name, queue.size, queue.capacity < 0 ? "any" : queue.capacity, [queue.waiting_to_put, queue.waiting_to_put ? "warm" : ""], [queue.waiting_to_take, queue.waiting_to_take && !queue.size ? "bad" : ""],
    queue.closed ? ["closed", "quiet"] : queue.waiting_to_take && !queue.size ? ["empty: something waits", "bad"] : queue.waiting_to_put ? ["full: something waits", "warm"] : ["open", "good"]]), "There are no queues.")];

views.Datasets = () => each("datasets").map(([name, dataset]) => table(
  `${dataset.name} on ${name}: ${dataset.waited === null ? "it is not known yet how long" : `${Math.round(100 * dataset.waited)} % of the time`} steps wait for elements`,
  ["stage", "made at", "elements#", "busy#", "in a pull for#"],
  dataset.stages.map((stage, at) => ["\u2003".repeat(stage.depth) + stage.kind, stage.where || "", stage.elements, [seconds(stage.seconds), at === dataset.slowest ? "warm" : ""], stage.waiting === null ? "" : seconds(stage.waiting)]),
  "No element was taken yet.")).concat(each("datasets").length ? [] : [element("p", {class: "quiet"}, "There are no datasets.")]);

views.Devices = () => [table("Devices", ["device", "tensors hold#", "at most#", "budget#", "kernels inline#", "on its thread#", "swapped out#", "swapped in#"],
  each("devices").map(([, device]) => [device.name, bytes(device.live_bytes), bytes(device.peak_bytes), device.budget_bytes ? bytes(device.budget_bytes) : "none", device.kernels_inline, device.kernels_threaded, bytes(device.swapped_out_bytes), bytes(device.swapped_in_bytes)]), "No device is known yet.")];

views.Events = () => [table("What changed since this page's server looks, the newest first", ["time", "task", "event"],
  [...(snapshot.events || [])].reverse().map((one) => [new Date(one.time * 1000).toLocaleTimeString(), one.task, [one.text, "text"]]), "Nothing has changed.")];

// ---- what a training has written

async function askForCurves() {
  curves = await ask("curves.json");
  if (chosen === "Training") show();
}

views.Training = () => {
  if (curves === null) return [element("p", {class: "quiet"}, "The event files are being read …")];
  if (curves.error) return [element("p", {class: "quiet"}, curves.error)];
  const saved = table("Checkpoints, the newest first", ["saved", "checkpoint"], (curves.checkpoints || []).map((one) => [new Date(one.saved * 1000).toLocaleString(), [one.name, "text"]]), "There are no checkpoints in the folder.");
  if (!curves.curves.length) return [element("p", {class: "quiet"}, "There are no scalars in the event files yet."), saved];
  return [element("div", {class: "curves"}, curves.curves.map(({run, tag, points}) => {
    const last = points[points.length - 1];
    const values = points.map(([, value]) => value);
    const told = `${tag}: ${last[1].toPrecision(4)} at step ${last[0]}; from ${Math.min(...values).toPrecision(3)} to ${Math.max(...values).toPrecision(3)}`;
    return element("figure", {}, element("figcaption", {}, element("b", {}, tag), element("span", {class: "quiet"}, ` ${run === "." ? "" : run}`)), curve(points, told), element("p", {class: "quiet"}, told));
  })), curves.more ? element("p", {class: "quiet"}, `${curves.more} more curves are not shown.`) : null, saved].filter((part) => part !== null);
};

// ---- the graph: one scope at a time, in layers by the longest way from its beginning

function layers(found) {
  const boxes = found.boxes.filter((box) => !box.apart);
  const place = new Map(boxes.map((box) => [box.name, {box, layer: 0, at: 0, comes: []}]));
  const goes = new Map(boxes.map((box) => [box.name, []]));
  for (const [source, target] of found.edges) {
    goes.get(source).push(target);
    place.get(target).comes.push(source);
  }
  const left = new Map([...place].map(([name, one]) => [name, one.comes.length]));
  let ready = [...place.keys()].filter((name) => !left.get(name));
  const done = new Set();
  while (done.size < place.size) {
    if (!ready.length) ready = [[...place.keys()].find((name) => !done.has(name))]; // a loop of the graph
    const name = ready.pop();
    if (done.has(name)) continue;
    done.add(name);
    for (const next of goes.get(name)) {
      if (!done.has(next)) place.get(next).layer = Math.max(place.get(next).layer, place.get(name).layer + 1);
      left.set(next, left.get(next) - 1);
      if (left.get(next) === 0) ready.push(next);
    }
  }
  const rows = [];
  for (const one of place.values()) (rows[one.layer] = rows[one.layer] || []).push(one);
  for (const row of rows.filter(Boolean)) {
    const middle = (one) => one.comes.length ? one.comes.reduce((sum, name) => sum + place.get(name).at, 0) / one.comes.length : 0;
    row.sort((a, b) => middle(a) - middle(b)).forEach((one, at) => { one.at = at; });
  }
  return {place, rows: rows.filter(Boolean)};
}

function boxDrawing(box, x, y, open) {
  const counts = box.kind === "node" ? box.op : `${number(box.nodes)} nodes${box.members ? `, ${box.members.length} alike` : ""}`;
  const label = box.label.length > 22 ? `${box.label.slice(0, 21)}…` : box.label;
  const device = Object.keys(box.devices || {}).map((name) => name.replace(/^.*\/job:/, "")).join(", ");
  const measured = `${box.seconds ? `, ${seconds(box.seconds)}` : ""}${box.bytes ? `, ${bytes(box.bytes)}` : ""}`;
  const told = `${box.name}: ${counts}${measured}${device ? ` on ${device}` : ""}${box.constants ? `, ${box.constants} constants and summaries` : ""}`;
  const rect = drawing("rect", {width: 170, height: 40, rx: box.kind === "node" ? 18 : 5});
  const fill = shade(box);
  if (fill) rect.style.fill = fill; // an attribute would be refused: the page takes no style but its own
  const go = () => openScope(box.name);
  const pressed = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); } };
  const opens = open ? {tabindex: 0, role: "button", "aria-label": `Open ${told}`, onclick: go, onkeydown: pressed} : {};
  return drawing("g", {class: `${box.kind}${open ? " open" : ""}`, transform: `translate(${x},${y})`, ...opens},
    drawing("title", {}, told), rect,
    drawing("text", {x: 85, y: 17, "text-anchor": "middle"}, label), drawing("text", {x: 85, y: 32, "text-anchor": "middle", class: "small"}, counts));
}

// The colour of a box: by its device a hue of its own, by time and memory the more the darker.
function shade(box) {
  if (colour === "device") {
    const names = [...new Set(drawn.boxes.flatMap((one) => Object.keys(one.devices || {})))].sort();
    const at = names.indexOf(Object.keys(box.devices || {})[0]);
    return at < 0 ? null : `hsl(${(at * 137) % 360} 65% 50% / .35)`;
  }
  if (colour === "time" || colour === "memory") {
    const field = colour === "time" ? "seconds" : "bytes";
    const most = Math.max(1e-12, ...drawn.boxes.map((one) => one[field] || 0));
    return `hsl(18 90% 50% / ${(0.75 * Math.sqrt((box[field] || 0) / most)).toFixed(3)})`;
  }
  return null;
}

async function search(text) {
  words = text;
  const answer = words.trim() ? await ask(`search.json?q=${encodeURIComponent(words)}`) : null;
  searched = answer && answer.found ? answer.found : null;
  const place = document.getElementById("found");
  if (place) place.replaceChildren(...foundParts());
}

function foundParts() {
  if (searched === null) return [];
  if (!searched.length) return [element("p", {class: "quiet"}, "No node has such a name.")];
  return [element("ul", {class: "found"}, searched.map((one) => element("li", {}, element("button", {class: "link", onclick: () => openScope(one.scope)}, one.name), element("span", {class: "quiet"}, one.op ? ` ${one.op}` : " scope"))))];
}

function graphTools() {
  const choices = ["kind", "device", "time", "memory"].map((name) => element("option", {value: name, selected: name === colour ? "" : null}, name));
  return element("div", {class: "tools"},
    element("label", {}, "Colour by ", element("select", {"data-key": "colour", onchange: (event) => { colour = event.target.value; show(); if (colour === "time") askForSteps().then(() => openScope(scope)); }}, choices)),
    element("label", {}, "Search ", element("input", {type: "search", "data-key": "search", placeholder: "name of a node", value: words, oninput: (event) => search(event.target.value)})));
}

function graphDrawing(found) {
  const {place, rows} = layers(found);
  const wide = 190, high = 76;
  const width = Math.max(1, ...rows.map((row) => row.length)) * wide + 20;
  rows.forEach((row, layer) => row.forEach((one) => { one.x = 10 + one.at * wide + (width - 20 - row.length * wide) / 2; one.y = 10 + layer * high; }));
  const lines = found.edges.map(([source, target, data, control]) => {
    const from = place.get(source), to = place.get(target);
    const bend = (from.y + 40 + to.y) / 2;
    return drawing("path", {class: data ? "data" : "control", "stroke-width": Math.min(6, 1 + Math.log2(data + control)),
      d: `M${from.x + 85},${from.y + 40} C${from.x + 85},${bend} ${to.x + 85},${bend} ${to.x + 85},${to.y}`},
      drawing("title", {}, `${source} → ${target}: ${data} tensors, ${control} control edges`));
  });
  const boxes = [...place.values()].map((one) => boxDrawing(one.box, one.x, one.y, one.box.kind === "scope" || one.box.kind === "stack"));
  const height = rows.length * high + 20;
  return drawing("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "The graph"}, lines, boxes);
}

async function openScope(path) {
  scope = path;
  location.hash = `graph=${encodeURIComponent(path)}`;
  drawn = null;
  show();
  const found = await ask(`graph.json?scope=${encodeURIComponent(path)}`);
  if (scope === path) { drawn = found; show(); }
}

views.Graph = () => {
  if (drawn === null) return [element("p", {class: "quiet"}, "The graph is being read …")];
  if (drawn.error) return [element("p", {class: "quiet"}, drawn.error)];
  const parts = scope ? scope.split("/") : [];
  const crumbs = [element("button", {onclick: () => openScope("")}, "graph"), ...parts.flatMap((part, at) => [" / ", element("button", {onclick: () => openScope(parts.slice(0, at + 1).join("/"))}, part)])];
  const apart = drawn.boxes.filter((box) => box.apart);
  const around = (title, counts) => Object.keys(counts).length ? [element("h2", {}, title), element("p", {}, Object.entries(counts).map(([name, count]) => `${name} (${count})`).join(", "))] : [];
  return [
    element("div", {class: "crumbs"}, crumbs, element("span", {class: "quiet"}, ` ${number(drawn.nodes)} nodes`)),
    graphTools(), element("div", {id: "found"}, foundParts()),
    element("div", {class: "graph"}, graphDrawing(drawn)),
    apart.length ? [element("h2", {}, "Apart, because they have very many edges or none that carry data"), table("", ["name", "what", "nodes#"], apart.map((box) => [box.label, box.op || box.kind, box.nodes]), "")] : [],
    around("Comes from", drawn.inputs), around("Goes to", drawn.outputs),
  ].flat();
};

// ---- the page

function show() {
  const view = document.getElementById("view");
  for (const tab of document.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", String(tab.textContent === chosen));
  if (snapshot === null && !["Graph", "Timeline", "Training"].includes(chosen)) return;
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  const kept = view.querySelector(".graph");
  const at = kept ? [kept.scrollLeft, kept.scrollTop] : null;
  if (shown === chosen) renew(view, views[chosen]());
  else view.replaceChildren(...views[chosen]());
  shown = chosen;
  const now = view.querySelector(".graph");
  if (focused) {
    const again = [...view.querySelectorAll("[data-key]")].find((one) => one.dataset.key === focused);
    if (again) again.focus({preventScroll: true});
  }
  if (at && now) [now.scrollLeft, now.scrollTop] = at;
}

function choose(name) {
  chosen = name;
  if (name === "Graph") openScope(scope);
  else if (name === "Timeline" && step) openStep(step);
  else { location.hash = name; show(); }
  if (name === "Steps") askForSteps();
  if (name === "Training") askForCurves();
}

function state(text, bad) {
  const place = document.getElementById("state");
  if (place.textContent !== text) place.textContent = text;
  place.className = bad ? "bad" : "";
}

function follow() {
  const events = new EventSource("events");
  events.onmessage = (event) => {
    snapshot = JSON.parse(event.data);
    const all = Object.values(snapshot.tasks);
    const lost = all.filter((told) => told.state === "lost").length;
    if (lost === all.length) state("No task of the cluster answers. This page goes on asking.", true);
    else state(`${all.length - lost} of ${all.length} tasks, ${number(snapshot.steps_per_second)} steps a second`, lost > 0);
    if (chosen === "Steps") askForSteps();
    if (chosen === "Training" && snapshot.number % 5 === 0) askForCurves();
    if (!document.hidden && !["Graph", "Timeline", "Training"].includes(chosen)) show();
  };
  events.onerror = () => state("The connection to this page's server is lost. It tries again by itself.", true);
}

document.addEventListener("DOMContentLoaded", () => {
  const names = Object.keys(views);
  const tabs = document.getElementById("tabs");
  tabs.append(...names.map((name) => element("button", {role: "tab", "aria-controls": "view", onclick: () => choose(name)}, name)));
  tabs.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (by === undefined) return;
    const next = names[(names.indexOf(chosen) + by + names.length) % names.length];
    choose(next);
    tabs.children[names.indexOf(next)].focus();
  });
  const hash = decodeURIComponent(location.hash.slice(1));
  if (hash.startsWith("graph=")) { scope = hash.slice(6); choose("Graph"); }
  else if (hash.startsWith("step=")) openStep(hash.slice(5));
  else choose(names.includes(hash) ? hash : "Overview");
  document.addEventListener("visibilitychange", () => { if (!document.hidden) show(); });
  follow();
});
