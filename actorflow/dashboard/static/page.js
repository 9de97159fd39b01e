"use strict";
// The page writes names and errors as text nodes only. It asks for nothing but snapshots and scopes of the graph.

const views = {};
let snapshot = null;
let chosen = "Overview";
let scope = "";
let drawn = null;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  for (const child of children.flat()) made.append(child);
  return made;
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

const number = (value) => (value === null || value === undefined ? "" : Math.round(value * 10) / 10).toLocaleString("en");

// A table: rows of [text, or [text, class]]; a heading that ends in # is of numbers.
function table(caption, headings, rows, none) {
  if (!rows.length) return element("p", {class: "quiet"}, none);
  const numeric = headings.map((heading) => heading.endsWith("#"));
  const head = headings.map((heading, at) => element("th", {scope: "col", class: numeric[at] ? "number" : null}, heading.replace("#", "")));
  const body = rows.map((row) => element("tr", {}, row.map((cell, at) => {
    const [text, kind] = Array.isArray(cell) ? cell : [cell, null];
    const shown = typeof text === "number" ? number(text) : text === null || text === undefined ? "" : String(text);
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

function curve(points) {
  const most = Math.max(1e-9, ...points.map(([, value]) => value));
  const path = points.map(([, value], at) => `${at ? "L" : "M"}${at},${(1 - value / most) * 95 + 2}`).join("");
  const label = `Steps a second over time; the most was ${number(most)}.`;
  const width = Math.max(points.length - 1, 1);
  return drawing("svg", {class: "curve", viewBox: `0 0 ${width} 100`, preserveAspectRatio: "none", role: "img", "aria-label": label}, drawing("path", {d: path}));
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
    element("h2", {}, "Steps a second"), curve(snapshot.history),
    element("h2", {}, "To look at"),
    snapshot.problems.length ? element("ul", {class: "problems"}, snapshot.problems.map((text) => element("li", {}, text))) : element("p", {class: "good"}, "Nothing is lost, starved or full."),
  ];
};

views.Tasks = () => [table("Tasks", ["task", "state", "address", "pid#", "epoch#", "up#", "devices#", "memory#", "steps#", "a second#", "in flight#", "failed#", "answers in#", ""],
  tasks().map(([name, told]) => [name, stateOf(told), told.address, told.pid === undefined ? "" : String(told.pid), told.epoch, seconds(told.uptime), (told.devices || []).length, bytes(told.resident_bytes), told.steps, told.steps_per_second, told.steps_in_flight, told.steps_failed, seconds(told.answer_seconds), [told.error || "", "text bad"]]), "No task has answered yet.")];

views.Steps = () => {
  const waiting = each("waiting");
  const parts = [table("Steps of each task", ["task", "begun#", "in flight#", "failed#", "cancelled#", "abandoned#", "nodes run#", "kernels on threads now"],
    tasks().filter(([, told]) => told.steps !== undefined).map(([name, told]) => [name, told.steps, told.steps_in_flight, told.steps_failed, told.steps_cancelled, told.steps_abandoned, told.nodes, [(told.kernels || []).join(", "), "text"]]), "No task has answered yet."),
    element("h2", {}, "What steps wait for")];
  if (!waiting.length) parts.push(element("p", {class: "quiet"}, "No step waits."));
  for (const [name, step] of waiting) {
    const idle = step.idle === null ? "" : `, nothing of it has run for ${seconds(step.idle)}`;
    parts.push(element("p", {}, `Step ${step.step} on ${name}${idle}:`), element("pre", {}, step.lines.join("\n")));
  }
  return parts;
};

views.Channels = () => [table("Links between tasks, those that waited longest first", ["task", "peer", "direction", "transport", "sent#", "received#", "queued#", "credit#", "waits#", "waited#", "dropped#", "round trip#"],
  each("links").sort(([, a], [, b]) => b.wait_seconds - a.wait_seconds).map(([name, link]) => [name, link.peer, link.direction, link.transport, bytes(link.bytes_sent), bytes(link.bytes_received), link.queued, bytes(link.credit_bytes), link.waits, seconds(link.wait_seconds), [link.dropped, link.dropped ? "warm" : ""], seconds(link.round_trip)]), "There are no links.")];

views.Queues = () => [table("Queues", ["queue", "task", "elements#", "capacity#", "wait to put#", "wait to take#", "state"],
  each("queues").map(([name, queue]) => [queue.name, name, queue.size, queue.capacity < 0 ? "any" : queue.capacity, [queue.waiting_to_put, queue.waiting_to_put ? "warm" : ""], [queue.waiting_to_take, queue.waiting_to_take && !queue.size ? "bad" : ""],
    queue.closed ? ["closed", "quiet"] : queue.waiting_to_take && !queue.size ? ["empty: something waits", "bad"] : queue.waiting_to_put ? ["full: something waits", "warm"] : ["open", "good"]]), "There are no queues.")];

views.Devices = () => [table("Devices", ["device", "tensors hold#", "at most#", "budget#", "kernels inline#", "on its thread#", "swapped out#", "swapped in#"],
  each("devices").map(([, device]) => [device.name, bytes(device.live_bytes), bytes(device.peak_bytes), device.budget_bytes ? bytes(device.budget_bytes) : "none", device.kernels_inline, device.kernels_threaded, bytes(device.swapped_out_bytes), bytes(device.swapped_in_bytes)]), "No device is known yet.")];

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
  const told = `${box.name}: ${counts}${device ? ` on ${device}` : ""}${box.constants ? `, ${box.constants} constants and summaries` : ""}`;
  const group = drawing("g", {class: `${box.kind}${open ? " open" : ""}`, transform: `translate(${x},${y})`},
    drawing("title", {}, told), drawing("rect", {width: 170, height: 40, rx: box.kind === "node" ? 18 : 5}),
    drawing("text", {x: 85, y: 17, "text-anchor": "middle"}, label), drawing("text", {x: 85, y: 32, "text-anchor": "middle", class: "small"}, counts));
  if (open) {
    const go = () => openScope(box.name);
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", `Open ${told}`);
    group.addEventListener("click", go);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); } });
  }
  return group;
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
  const answer = await fetch(`graph.json?scope=${encodeURIComponent(path)}`);
  const found = await answer.json();
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
    element("div", {class: "graph"}, graphDrawing(drawn)),
    apart.length ? [element("h2", {}, "Apart, because they have very many edges or none that carry data"), table("", ["name", "what", "nodes#"], apart.map((box) => [box.label, box.op || box.kind, box.nodes]), "")] : [],
    around("Comes from", drawn.inputs), around("Goes to", drawn.outputs),
  ].flat();
};

// ---- the page

function show() {
  const view = document.getElementById("view");
  for (const tab of document.querySelectorAll("[role=tab]")) tab.setAttribute("aria-selected", String(tab.textContent === chosen));
  if (snapshot === null && chosen !== "Graph") return;
  const kept = view.querySelector(".graph");
  const at = kept ? [kept.scrollLeft, kept.scrollTop] : null;
  view.replaceChildren(...views[chosen]());
  const now = view.querySelector(".graph");
  if (at && now) [now.scrollLeft, now.scrollTop] = at;
}

function choose(name) {
  chosen = name;
  if (name === "Graph") openScope(scope);
  else { location.hash = name; show(); }
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
    if (chosen !== "Graph") show();
  };
  events.onerror = () => state("The connection to this page's server is lost. It tries again by itself.", true);
}

document.addEventListener("DOMContentLoaded", () => {
  const names = Object.keys(views);
  const tabs = document.getElementById("tabs");
  tabs.append(...names.map((name) => element("button", {role: "tab", "aria-controls": "view", onclick: () => choose(name)}, name)));
  tabs.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step === undefined) return;
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length];
    choose(next);
    tabs.children[names.indexOf(next)].focus();
  });
  const hash = decodeURIComponent(location.hash.slice(1));
  if (hash.startsWith("graph=")) { scope = hash.slice(6); choose("Graph"); }
  else choose(names.includes(hash) ? hash : "Overview");
  follow();
});
