// Draws the scene that Python computed. Nothing is fetched, nothing is computed here but places on the screen.
const NS = "http://www.w3.org/2000/svg";
const SIZE = 400, PAD = 34, WIDE = 300;

function make(name, attributes, parent) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.appendChild(element);
  return element;
}

const STYLE = `
.tacl-land { color: var(--jp-ui-font-color1, CanvasText); font: 13px/1.5 var(--jp-ui-font-family, sans-serif); }
.tacl-land .pictures { display: flex; flex-wrap: wrap; gap: 8px 24px; }
.tacl-land .bar { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; margin: 4px 0; }
.tacl-land svg { max-width: 100%; height: auto; overflow: visible; }
.tacl-land text { fill: currentColor; font-size: 12px; }
.tacl-land button, .tacl-land select { font: inherit; color: inherit; padding: 3px 10px; border-radius: 4px;
  border: 1px solid currentColor; background: var(--jp-layout-color1, Canvas); cursor: pointer; }
.tacl-land .start { cursor: grab; touch-action: none; }
.tacl-land .start:focus-visible, .tacl-land button:focus-visible { outline: 2px solid #1c6fb5; outline-offset: 2px; }
.tacl-land .key { display: inline-flex; align-items: center; gap: 6px; }
.tacl-land .key i { width: 22px; height: 0; border-top: 3px solid; }
`;

function render({ model, el }) {
  const fixed = model.get("_fixed"), edge = fixed.edge;
  const px = (x) => PAD + ((x + edge) / (2 * edge)) * SIZE;
  const py = (y) => 8 + ((edge - y) / (2 * edge)) * SIZE;
  const path = (points, x = px, y = py) => points.map((p, i) => `${i ? "L" : "M"}${x(p[0])},${y(p[1])}`).join("");

  const root = document.createElement("div");
  root.className = "tacl-land";
  root.innerHTML = `<style>${STYLE}</style><div class="bar"></div><div class="pictures"></div>
    <div class="bar"><button class="play">▶ Play</button>
    <label>Step <input class="step" type="range" min="0" style="width:220px;vertical-align:middle"></label>
    <label>Order <select class="order"></select></label><button class="home">Start again</button></div>
    <div class="said" role="status" aria-live="polite"></div>`;
  el.appendChild(root);
  const [keys] = root.querySelectorAll(".bar"), pictures = root.querySelector(".pictures");
  const slider = root.querySelector(".step"), play = root.querySelector(".play");
  const order = root.querySelector(".order"), said = root.querySelector(".said");
  for (const name of fixed.orders) order.add(new Option(name, name));

  const map = make("svg", { width: SIZE + PAD + 8, height: SIZE + 40, viewBox: `0 0 ${SIZE + PAD + 8} ${SIZE + 40}`,
    role: "group", "aria-label": "Loss landscape of two weights" }, pictures);
  const clip = `clip${Math.random().toString(36).slice(2)}`;
  make("rect", { x: PAD, y: 8, width: SIZE, height: SIZE }, make("clipPath", { id: clip }, make("defs", {}, map)));
  make("rect", { x: PAD, y: 8, width: SIZE, height: SIZE, fill: "none", stroke: "currentColor", "stroke-opacity": 0.5 }, map);
  const ground = make("g", { "clip-path": `url(#${clip})`, fill: "none" }, map);
  const walks = make("g", { fill: "none", "stroke-linejoin": "round" }, map);
  make("text", { x: PAD + SIZE / 2, y: SIZE + 28, "text-anchor": "middle" }, map).textContent = "weight w₁";
  make("text", { x: 14, y: SIZE / 2, transform: `rotate(-90 14 ${SIZE / 2})`, "text-anchor": "middle" }, map)
    .textContent = "weight w₂";
  const start = make("circle", { class: "start", r: 9, tabindex: 0, role: "button", fill: "#ffffff", stroke: "#1a1a1a",
    "stroke-width": 3, "aria-label": "Start; move it with the mouse or the arrow keys" }, map);

  const chart = make("svg", { width: WIDE + PAD + 60, height: 250, viewBox: `0 0 ${WIDE + PAD + 60} 250`, role: "img" }, pictures);
  const curves = make("g", { fill: "none" }, chart);

  function drawGround(scene) {
    ground.replaceChildren();
    for (const task of [scene.new, scene.old]) {
      const old = task === scene.old;
      fixed.lines[task].forEach((line, i) => make("path", { d: path(line), stroke: old ? "#3d8bd4" : "#9a9a9a",
        "stroke-width": i ? 1 : 5, "stroke-opacity": i ? 0.55 : 0.45, "stroke-dasharray": old ? "none" : "5 4" }, ground));
    }
    keys.innerHTML = `<span class="key"><i style="border-color:#3d8bd4"></i>valley of the old task ${scene.old}</span>
      <span class="key"><i style="border-color:#9a9a9a;border-top-style:dashed"></i>valley of the new task ${scene.new}</span>` +
      model.get("_methods").map((m) => `<span class="key"><i style="border-color:${fixed.colours[m]}"></i>${fixed.names[m]}</span>`).join("");
  }

  function draw() {
    const scene = model.get("_scene"), methods = model.get("_methods"), first = scene.learned.length - 1;
    const last = first + scene.walks[methods[0]].points.length - 1;
    slider.max = last;
    const step = Math.min(Number(slider.value), last), later = Math.max(0, step - first);
    walks.replaceChildren();
    make("path", { d: path(scene.learned.slice(0, step + 1)), stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": "2 3" }, walks);
    const here = step <= first ? { sgd: scene.learned[step] } : Object.fromEntries(methods.map((m) => [m, scene.walks[m].points[later]]));
    for (const m of methods) if (step > first) {
      make("path", { d: path(scene.walks[m].points.slice(0, later + 1)), stroke: fixed.colours[m], "stroke-width": 3.5 }, walks);
    }
    for (const [m, p] of Object.entries(here)) {
      make("circle", { cx: px(p[0]), cy: py(p[1]), r: 6, fill: step > first ? fixed.colours[m] : "#1a1a1a", stroke: "#ffffff", "stroke-width": 1.5 }, walks);
    }
    const at = model.get("start");
    start.setAttribute("cx", px(at[0])); start.setAttribute("cy", py(at[1]));

    const most = Math.max(0.2, ...methods.flatMap((m) => scene.walks[m].loss));
    const cx = (i) => PAD + 8 + (i / (last - first)) * WIDE, cy = (v) => 206 - (v / most) * 176;
    curves.replaceChildren();
    make("path", { d: `M${PAD + 8},30V206H${PAD + 8 + WIDE}`, stroke: "currentColor", "stroke-opacity": 0.6 }, curves);
    const write = (x, y, text, more = {}) => { const t = make("text", { x, y, stroke: "none", ...more }, curves); t.textContent = text; };
    write(PAD + 8, 18, `Loss of the old task ${scene.old}`, { "font-weight": 600 });
    write(PAD + 8 + WIDE / 2, 236, `steps on the new task ${scene.new}`, { "text-anchor": "middle" });
    write(PAD + 2, 34, most.toFixed(1), { "text-anchor": "end" }); write(PAD + 2, 210, "0", { "text-anchor": "end" });
    const ends = [];
    for (const m of methods) {
      const values = scene.walks[m].loss.slice(0, later + 1);
      if (step <= first) continue;
      make("path", { d: path(values.map((v, i) => [i, v]), cx, cy), stroke: fixed.colours[m], "stroke-width": 3 }, curves);
      ends.push([cy(values.at(-1)) + 4, m]);
    }
    ends.sort((a, b) => a[0] - b[0]).forEach((end, i) => { if (i) end[0] = Math.max(end[0], ends[i - 1][0] + 14); });
    for (const [y, m] of ends) write(cx(later) + 6, y, fixed.names[m], { "font-weight": 600 });
    chart.setAttribute("aria-label", scene.sentence);
    said.textContent = step === last ? scene.sentence :
      step <= first ? `Learning task ${scene.old}: step ${step} of ${first}.` : `Learning task ${scene.new}: step ${later} of ${last - first}.`;
  }

  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "▶ Play"; };
  play.onclick = () => {
    if (timer) return stop();
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    play.textContent = "⏸ Pause";
    timer = setInterval(() => { slider.value = Number(slider.value) + 1; draw(); if (slider.value === slider.max) stop(); }, 40);
  };
  slider.oninput = () => { stop(); draw(); };
  const send = (at) => { model.set("start", at.map((v) => Math.max(-edge, Math.min(edge, v)))); model.save_changes(); };
  order.onchange = () => { model.set("order", order.value); model.save_changes(); };
  root.querySelector(".home").onclick = () => { send(fixed.home); };
  let waiting = 0;
  start.onpointerdown = (event) => { start.setPointerCapture(event.pointerId); stop(); };
  start.onpointermove = (event) => {
    if (!start.hasPointerCapture(event.pointerId) || waiting) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      const box = map.getBoundingClientRect(), scale = (SIZE + PAD + 8) / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      send([((x - PAD) / SIZE) * 2 * edge - edge, edge - ((y - 8) / SIZE) * 2 * edge]);
    });
  };
  // Else a notebook whose shortcuts are looked for first (Notebook 7) takes the keys. Those with Ctrl or Cmd are its own.
  for (const part of [start, ...root.querySelectorAll("button, input, select")]) part.dataset.lmSuppressShortcuts = "true";
  root.onkeydown = root.onkeyup = ({ target, ctrlKey, metaKey }) => {
    if (ctrlKey || metaKey) delete target.dataset.lmSuppressShortcuts;
    else target.dataset.lmSuppressShortcuts = "true";
  };
  start.onkeydown = (event) => {
    const way = { ArrowLeft: [-0.2, 0], ArrowRight: [0.2, 0], ArrowUp: [0, 0.2], ArrowDown: [0, -0.2] }[event.key];
    if (!way) return;
    event.preventDefault(); event.stopPropagation();
    send(model.get("start").map((v, i) => v + way[i]));
  };
  const changed = () => { order.value = model.get("order"); drawGround(model.get("_scene")); draw(); };
  model.on("change:_scene", changed);
  model.on("change:start", draw);
  slider.max = 10000; changed(); slider.value = slider.max; draw();
  return () => { stop(); model.off("change:_scene", changed); model.off("change:start", draw); };
}
export default { render };
