// The projection playground without a kernel: what A-GEM and OGD leave of a gradient. The numbers and sentences are those
// of projection_state.py, which a test compares with these.
const SAME = 1e-9;
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const norm = (a) => Math.sqrt(dot(a, a));
const less = (a, b, times) => a.map((value, i) => value - times * b[i]);
const percent = (part) => `${Math.round(part * 100)}%`;

export function agem(g, ref) {
  let product = dot(g, ref);
  if (Math.abs(product) < SAME * norm(g) * norm(ref)) product = 0;
  const projects = product < 0;
  let result = projects ? less(g, ref, product / dot(ref, ref)) : [...g];
  if (norm(result) < SAME * norm(g)) result = result.map(() => 0);
  const kept = norm(g) ? norm(result) / norm(g) : 1;
  const said = () => {
    if (!norm(g)) return "g is zero: the batch is learned, and nothing moves.";
    if (!norm(ref)) return "g_ref is zero: the memory does not object to anything, so the step is along g itself.";
    if (!projects) return `g · g_ref is not negative: a step against g ${product > 0 ? "lowers the loss of the memory as well" : "leaves the memory's loss alone"}, so A-GEM takes g as it is.`;
    if (kept < 1e-6) return "g and g_ref are opposite: all of g would harm the memory, and nothing is left of it.";
    return "g · g_ref is negative: a step against g would raise the loss of the memory. A-GEM takes the part along g_ref " +
      `away; what is left is at a right angle to g_ref, and has ${percent(kept)} of the length of g.`;
  };
  return { product, projects, result, kept, sentence: said() };
}

export function ogd(g, stored) {
  const basis = [];
  const without = (vector) => {
    for (let twice = 0; twice < 2; twice++) for (const v of basis) vector = less(vector, v, dot(vector, v));
    return vector;
  };
  for (const u of stored) {
    const v = without(u);
    if (norm(v) > SAME * norm(u)) basis.push(v.map((value) => value / norm(v)));
  }
  let result = without(g);
  if (norm(result) < SAME * norm(g)) result = result.map(() => 0);
  const kept = norm(g) ? norm(result) / norm(g) : 1, n = stored.length, rank = basis.length, free = g.length - rank;
  const said = () => {
    if (!n) return "Nothing is stored: every direction is free, and the step is along g itself.";
    const span = ["no direction", "a line", "a plane", "the whole space"][rank] ?? `${rank} dimensions`;
    let text = `${n} stored gradient${n > 1 ? "s" : ""} span${n === 1 ? "s" : ""} ${span}`;
    if (rank < n) text += " (one more lies in the span of the others and protects nothing new)";
    if (!free) return `${text}: no direction is left, ĝ = 0, and the network cannot learn any more.`;
    if (kept < 1e-6) return `${text}; g lies in it, so nothing of g is left.`;
    const left = { 1: "one direction", 2: "a plane" }[free] ?? `${free} dimensions`;
    return `${text}; ${left} at a right angle to it is free. ${percent(kept)} of the length of g is left.`;
  };
  return { basis, result, kept, sentence: said() };
}

const NS = "http://www.w3.org/2000/svg", SIZE = 420, G = "#004c94", OTHER = "#a0460a", RESULT = "#1a1a1a";
const rad = (degrees) => (degrees * Math.PI) / 180;

function make(name, attributes, parent) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.appendChild(element);
  return element;
}

function arrow(parent, from, to, colour, wide, name) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]], long = Math.hypot(dx, dy);
  if (long < 2) return;
  const [ux, uy] = [dx / long, dy / long], head = Math.min(long, 6 + 2.4 * wide), base = [to[0] - ux * head, to[1] - uy * head];
  make("line", { x1: from[0], y1: from[1], x2: base[0], y2: base[1], stroke: colour, "stroke-width": wide }, parent);
  make("path", { d: `M${to}L${base[0] - uy * head * 0.45},${base[1] + ux * head * 0.45}L${base[0] + uy * head * 0.45},${base[1] - ux * head * 0.45}Z`, fill: colour }, parent);
  if (!name) return;
  const label = make("text", { x: to[0] + ux * 14, y: to[1] + uy * 14 + 5, fill: colour, "text-anchor": ux > 0.4 ? "start" : ux < -0.4 ? "end" : "middle", "font-weight": 700, "font-size": 16,
    stroke: "#ffffff", "stroke-width": 4, "paint-order": "stroke" }, parent);
  label.textContent = name;
}

const STYLE = `.tacl-projection { font: 14px/1.5 inherit; } .tacl-projection .room { display: flex; flex-wrap: wrap; gap: 8px 20px; margin: 8px 0; }
.tacl-projection svg { width: min(100%, ${SIZE}px); height: auto; background: #fff; border-radius: 6px; touch-action: pan-y; }
.tacl-projection .controls { flex: 1 1 240px; min-width: 0; } .tacl-projection select { flex: 1; min-width: 0; } .tacl-projection label { display: flex; gap: 8px; margin: 4px 0; align-items: center; }
.tacl-projection label span { flex: 0 0 7.5em; } .tacl-projection input { flex: 1; min-width: 60px; }
.tacl-projection output { flex: 0 0 2.6em; text-align: right; }
.tacl-projection :is(select, button) { font: inherit; color: inherit; background: var(--color-background-primary, Canvas); border: 1px solid currentColor; border-radius: 4px; padding: 3px 8px; }
.tacl-projection :is(select, button, input):focus-visible { outline: 3px solid #1c6fb5; outline-offset: 2px; }
.tacl-projection .said { font-weight: 600; min-height: 4.5em; }`;

/** Sliders with their names; ``fields``: [key, label, low, high, step]. Each move calls ``changed``. */
function controls(parent, values, fields, changed) {
  const inputs = {};
  for (const [key, text, min, max, step] of fields) {
    const label = parent.appendChild(document.createElement("label"));
    label.appendChild(document.createElement("span")).textContent = text;
    const input = label.appendChild(Object.assign(document.createElement("input"), { type: "range", min, max, step, value: values[key] }));
    const shown = label.appendChild(document.createElement("output"));
    input.oninput = () => { values[key] = Number(input.value); changed(key); };
    inputs[key] = { input, shown };
  }
  return () => { for (const [key, { input, shown }] of Object.entries(inputs)) { input.value = values[key]; shown.textContent = values[key]; } };
}

function chooser(parent, text, names, chosen) {
  const label = parent.appendChild(document.createElement("label"));
  label.appendChild(document.createElement("span")).textContent = text;
  const select = label.appendChild(document.createElement("select"));
  for (const name of names) select.add(new Option(name, name));
  select.onchange = () => chosen(select.value);
  return select;
}

function room(el, label) {
  const root = el.appendChild(document.createElement("div"));
  root.className = "room";
  const svg = make("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": label }, root);
  const side = root.appendChild(document.createElement("div"));
  side.className = "controls";
  return { root, svg, side, said: Object.assign(document.createElement("p"), { className: "said" }) };
}

const PAIRS = { "a conflict": [140, 1.5, 20, 1.2], "no conflict": [70, 1.5, 20, 1.2], "a right angle": [110, 1.5, 20, 1.2],
  opposite: [200, 1.5, 20, 1.2], "almost forgotten: a tiny g_ref": [140, 1.5, 20, 0.1] };

function plane(el) {
  const { root, svg, side, said } = room(el, "A-GEM: two gradients in a plane, and what is left of g");
  const values = {}, reach = 2.35, at = ([x, y]) => [(x / reach + 1) * SIZE / 2, (1 - y / reach) * SIZE / 2];
  const set = (name) => { [values.a, values.l, values.b, values.m] = PAIRS[name]; draw(); };
  const vector = (angle, length) => [length * Math.cos(rad(angle)), length * Math.sin(rad(angle))];
  chooser(side, "Example", Object.keys(PAIRS), set);
  [values.a, values.l, values.b, values.m] = PAIRS["a conflict"];
  const refresh = controls(side, values, [["a", "g: angle °", 0, 359, 1], ["l", "g: length", 0, 2, 0.05], ["b", "g_ref: angle °", 0, 359, 1], ["m", "g_ref: length", 0, 2, 0.05]], () => draw());
  said.setAttribute("role", "status");
  side.appendChild(said);
  function draw() {
    refresh();
    const g = vector(values.a, values.l), ref = vector(values.b, values.m), state = agem(g, ref), origin = at([0, 0]);
    svg.replaceChildren();
    if (norm(ref)) {
      const along = ref.map((value) => (value / norm(ref)) * 2 * reach), across = [-along[1], along[0]];
      const ends = [across, less(across, along, 1), less(across.map((v) => -v), along, 1), across.map((v) => -v)].map(at);
      make("path", { d: `M${ends.join("L")}Z`, fill: "#f8eadf" }, svg);
    }
    make("path", { d: `M0,${SIZE / 2}H${SIZE}M${SIZE / 2},0V${SIZE}`, stroke: "#b0b0b0" }, svg);
    arrow(svg, origin, at(state.result), RESULT, 7, "");
    if (state.projects) make("path", { d: `M${at(g)}L${at(state.result)}`, stroke: "#555555", "stroke-width": 2.5, "stroke-dasharray": "2 5" }, svg);
    arrow(svg, origin, at(g), G, 3, "g");
    arrow(svg, origin, at(ref), OTHER, 3, "g_ref");
    said.textContent = `${state.sentence} g · g_ref = ${state.product.toFixed(2)}.`;
  }
  svg.onpointerdown = (event) => { svg.setPointerCapture(event.pointerId); drag(event, true); };
  svg.onpointermove = (event) => { if (svg.hasPointerCapture(event.pointerId)) drag(event, false); };
  let held = "a";
  function drag(event, first) {
    const box = svg.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width * 2 - 1) * reach, y = (1 - (event.clientY - box.top) / box.height * 2) * reach;
    const far = (angle, length) => norm(less(vector(angle, length), [x, y], 1));
    if (first) held = far(values.a, values.l) <= far(values.b, values.m) ? "a" : "b";
    values[held] = (Math.round(Math.atan2(y, x) * 180 / Math.PI) + 360) % 360;
    values[held === "a" ? "l" : "m"] = Math.min(2, Math.round(Math.hypot(x, y) * 20) / 20);
    draw();
  }
  draw();
  return root;
}

const SPACES = { "two stored gradients": [2, 60, 40, 0, 0, 75, 0, 45, 60], "one stored gradient": [1, 60, 40, 0, 0, 90, 0, 45, 60],
  "three of them in one plane": [3, 60, 40, 0, 0, 75, 0, 130, 0], "three that fill the space": [3, 60, 40, 0, 0, 75, 0, 45, 60],
  "g in the span already": [2, 40, 0, 0, 0, 75, 0, 45, 60] };
const KEYS = ["n", "ga", "gh", "u1a", "u1h", "u2a", "u2h", "u3a", "u3h"];

function space(el) {
  const { root, svg, side, said } = room(el, "OGD: stored gradients in space, and what is left of g");
  const values = { look: -60 };
  const set = (name) => { KEYS.forEach((key, i) => { values[key] = SPACES[name][i]; }); draw(); };
  KEYS.forEach((key, i) => { values[key] = SPACES["two stored gradients"][i]; });
  chooser(side, "Example", Object.keys(SPACES), set);
  const refresh = controls(side, values, [["n", "stored gradients", 0, 3, 1], ["ga", "g: angle °", -180, 180, 5], ["gh", "g: height °", -90, 90, 5],
    ["u1a", "u1: angle °", -180, 180, 5], ["u2a", "u2: angle °", -180, 180, 5], ["u3a", "u3: angle °", -180, 180, 5], ["u3h", "u3: height °", -90, 90, 5],
    ["look", "look from °", -180, 180, 5]], () => draw());
  said.setAttribute("role", "status");
  side.appendChild(said);
  const vector = (a, h, length = 1) => [length * Math.cos(rad(h)) * Math.cos(rad(a)), length * Math.cos(rad(h)) * Math.sin(rad(a)), length * Math.sin(rad(h))];
  function draw() {
    refresh();
    const turn = rad(values.look), tilt = rad(25), reach = 2.1;
    const right = [-Math.sin(turn), Math.cos(turn), 0], up = [-Math.sin(tilt) * Math.cos(turn), -Math.sin(tilt) * Math.sin(turn), Math.cos(tilt)];
    const at = (p) => [(dot(p, right) / reach + 1) * SIZE / 2, (1 - dot(p, up) / reach) * SIZE / 2];
    const g = vector(values.ga, values.gh, 1.5), stored = [1, 2, 3].slice(0, values.n).map((i) => vector(values[`u${i}a`], values[`u${i}h`]));
    const state = ogd(g, stored), origin = at([0, 0, 0]), { basis } = state;
    svg.replaceChildren();
    if (basis.length === 2) {
      const rim = Array.from({ length: 60 }, (_, i) => at(basis[0].map((v, k) => 1.9 * (v * Math.cos(i / 30 * Math.PI) + basis[1][k] * Math.sin(i / 30 * Math.PI)))));
      make("path", { d: `M${rim.join("L")}Z`, fill: "#f6dcc8", "fill-opacity": 0.8, stroke: "#c98a5a" }, svg);
    }
    if (basis.length === 1) make("path", { d: `M${at(basis[0].map((v) => -1.9 * v))}L${at(basis[0].map((v) => 1.9 * v))}`, stroke: "#e9a46c", "stroke-width": 3 }, svg);
    for (let k = 0; k < 3; k++) { const end = [0, 0, 0]; end[k] = 1.9; make("path", { d: `M${at(end.map((v) => -v))}L${at(end)}`, stroke: "#c8c8c8" }, svg); }
    stored.forEach((u, i) => arrow(svg, origin, at(u), OTHER, 3, `u${"₁₂₃"[i]}`));
    arrow(svg, origin, at(state.result), RESULT, 6, "ĝ");
    make("path", { d: `M${at(g)}L${at(state.result)}`, stroke: "#555555", "stroke-width": 2.5, "stroke-dasharray": "2 5" }, svg);
    arrow(svg, origin, at(g), G, 3, "g");
    said.textContent = state.sentence;
  }
  draw();
  return root;
}

function render({ el }) {
  const root = el.appendChild(document.createElement("div"));
  root.className = "tacl-projection";
  root.appendChild(document.createElement("style")).textContent = STYLE;
  const title = (text) => { root.appendChild(document.createElement("h3")).textContent = text; };
  title("A-GEM: two arrows in a plane");
  plane(root);
  title("OGD: stored gradients in space");
  space(root);
}
export default { render };
