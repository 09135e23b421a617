// The memory player: replays a recorded log in the browser alone. Nothing is fetched and no kernel is asked.
// What it is given is made by recording.py; a step is shown by going from the last one shown, event by event.
const NOW = "#d6006c", INK = "#1a1a1a", EMPTY = "#dcdcdc", PAPER = "#ffffff", LATER = "#ececec";
const FRAME = 2, BAND = 13, GAP = 8, ASPECT = 4.2;

const STYLE = `
.tacl-memory { color: var(--jp-ui-font-color1, var(--color-foreground-primary, CanvasText));
  font: 14px/1.5 var(--jp-ui-font-family, inherit); max-width: 1160px; }
.tacl-memory .bar { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; margin: 6px 0; }
.tacl-memory .bar label { display: flex; gap: 6px; align-items: center; }
.tacl-memory .grow { flex: 1 1 200px; } .tacl-memory .grow input { flex: 1; min-width: 90px; }
.tacl-memory button, .tacl-memory select { font: inherit; color: inherit; padding: 4px 10px; border-radius: 4px;
  border: 1px solid currentColor; background: var(--jp-layout-color1, var(--color-background-primary, Canvas)); cursor: pointer; }
.tacl-memory :is(button, select, input):focus-visible { outline: 3px solid #1c6fb5; outline-offset: 2px; }
.tacl-memory figure { margin: 0; min-width: 0; background: ${PAPER}; color: ${INK}; border-radius: 6px; padding: 6px 8px; }
.tacl-memory figcaption { font-size: 13px; text-align: left; margin: 0 0 2px; color: ${INK}; }
.tacl-memory canvas { display: block; width: 100%; cursor: pointer; }
.tacl-memory .below { display: grid; grid-template-columns: 1.5fr 1fr 1fr; gap: 8px; margin-top: 8px; }
.tacl-memory .said { min-height: 3em; } .tacl-memory .story { min-height: 1.5em; }
.tacl-memory .key span { display: inline-block; margin-right: 14px; }
.tacl-memory .key b { padding: 1px 6px; margin-right: 4px; border-radius: 3px; }
@media (max-width: 700px) { .tacl-memory .below { grid-template-columns: 1fr; } .tacl-memory .said { min-height: 4.5em; } }
`;

const typed = (view, Kind) => {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return new Kind(bytes.slice().buffer);
};
const count = (number) => number.toLocaleString("en-US");

/** A log that can be read at any step: what each place holds, and what there is to say of it. */
export class Recording {
  constructor(meta, events, pixels, spots, names) {
    Object.assign(this, meta);
    const all = typed(events, Int32Array), n = (this.events = all.length / 4);
    [this.step, this.place, this.image, this.task] = [0, 1, 2, 3].map((i) => all.subarray(i * n, (i + 1) * n));
    this.pixels = typed(pixels, Uint8Array);
    this.spots = typed(spots, Float32Array);
    this.nameOf = typed(names, Int16Array);
    this.clusters = this.pools * this.of_pool;
    this.places = this.clusters * this.size;
    this.before = new Int32Array(n);  // of each event: the one whose sample had to leave, or -1
    const last = new Int32Array(this.places).fill(-1);
    for (let i = 0; i < n; i++) { this.before[i] = last[this.place[i]]; last[this.place[i]] = i; }
    this.held = new Int32Array(this.places).fill(-1);  // the event that filled each place
    this.now = 0;  // so many events have happened
    this.changed = new Set();
  }

  /** How many events have happened after a step. */
  until(step) {
    let low = 0, high = this.events;
    while (low < high) { const middle = (low + high) >> 1; if (this.step[middle] <= step) low = middle + 1; else high = middle; }
    return low;
  }

  goTo(step) {
    const end = this.until(step);
    for (; this.now < end; this.now++) { this.held[this.place[this.now]] = this.now; this.changed.add(this.place[this.now]); }
    while (this.now > end) { this.now--; this.held[this.place[this.now]] = this.before[this.now]; this.changed.add(this.place[this.now]); }
  }

  members(cluster) { return Array.from(this.held.subarray(cluster * this.size, (cluster + 1) * this.size)).filter((e) => e >= 0); }

  counts() {
    const found = new Array(this.tasks.length).fill(0);
    for (const event of this.held) if (event >= 0) found[this.task[event]]++;
    return found;
  }

  mean(events) {
    const sum = [0, 0];
    for (const e of events) { sum[0] += this.spots[2 * this.image[e]]; sum[1] += this.spots[2 * this.image[e] + 1]; }
    return sum.map((value) => value / events.length);
  }

  /** What the newcomer found: members of its cluster before it came, and the cluster with the nearest mean. */
  arrival() {
    if (!this.now) return null;
    const event = this.now - 1, cluster = Math.floor(this.place[event] / this.size), left = this.before[event];
    const was = (c) => this.members(c).filter((e) => e !== event).concat(c === cluster && left >= 0 ? [left] : []);
    const opened = was(cluster).length === 0;
    let nearest = null;
    if (this.measured) {
      const first = Math.floor(cluster / this.of_pool) * this.of_pool, length = this.pixels.length / this.nameOf.length;
      let best = Infinity;
      for (let c = first; c < first + this.of_pool; c++) {
        const members = was(c);
        if (!members.length) { nearest = null; break; }
        let far = 0;
        for (let k = 0; k < length; k++) {
          let sum = 0;
          for (const e of members) sum += this.pixels[this.image[e] * length + k];
          far += (sum / members.length - this.pixels[this.image[event] * length + k]) ** 2;
        }
        if (far < best - 1e-9) { best = far; nearest = c; }
      }
    }
    return { event, step: this.step[event], cluster, task: this.task[event], opened, nearest,
      replaced: left < 0 ? null : this.task[left], means: { own: opened ? null : this.mean(was(cluster)), nearest: nearest === null ? null : this.mean(was(nearest)) } };
  }

  where(cluster) {
    const name = `${this.clustered ? "cluster" : "row"} ${cluster}`;
    return this.pools > 1 ? `${name} (pool of class ${Math.floor(cluster / this.of_pool)})` : name;
  }

  sentence(step, came) { return `Step ${count(step)} of ${count(this.steps)}: ${this.happened(step, came)}`; }

  happened(step, came) {
    if (!came) return "the memory is empty.";
    const who = this.names[this.nameOf[this.image[came.event]]], where = this.where(came.cluster);
    let text = `${who} of task ${came.task} `;
    if (came.opened && this.clustered) text += `opened ${where}`;
    else if (came.replaced === null) text += `joined ${where}`;
    else text += `entered ${where} and replaced ${came.replaced === came.task ? "one of the same task" : `a member of task ${came.replaced}`}`;
    if (came.step < step) return `nothing entered; at step ${count(came.step)} ${text}.`;
    if (came.nearest !== null && came.nearest !== came.cluster) text += `, though cluster ${came.nearest} was nearer`;
    return `${text}.`;
  }

  story(cluster) {
    const members = this.members(cluster), where = this.where(cluster);
    const named = where[0].toUpperCase() + where.slice(1);
    if (!members.length) return `${named} is still empty.`;
    const of = new Map();
    for (const e of members) of.set(this.task[e], (of.get(this.task[e]) ?? 0) + 1);
    const tasks = [...of].sort((a, b) => a[0] - b[0]).map(([task, n]) => `${n} of task ${task}`).join(", ");
    const since = Math.min(...members.map((e) => this.step[e]));
    return `${named} holds ${tasks}; its oldest member came at step ${count(since)}.`;
  }

  /** The oldest task of each cluster and the share of each task, at so many moments; once for a width. */
  overTime(moments) {
    const oldest = new Int8Array(this.clusters * moments).fill(-1), shares = new Float32Array(this.tasks.length * moments);
    const task = new Int16Array(this.places).fill(-1), of = new Float64Array(this.tasks.length);
    for (let m = 0, event = 0; m < moments; m++) {
      const end = this.until(Math.floor(((m + 0.5) * this.steps) / moments));
      for (; event < end; event++) {
        const place = this.place[event];
        if (task[place] >= 0) of[task[place]]--;
        task[place] = this.task[event];
        of[task[place]]++;
      }
      for (let c = 0; c < this.clusters; c++) {
        let old = 127;
        for (let p = c * this.size; p < (c + 1) * this.size; p++) if (task[p] >= 0 && task[p] < old) old = task[p];
        oldest[c * moments + m] = old === 127 ? -1 : old;
      }
      for (let t = 0; t < of.length; t++) shares[t * moments + m] = of[t] / this.places;
    }
    return { oldest, shares };
  }
}

/** A canvas as wide as its column, with as many pixels as the screen has; null where nothing is to be seen. */
function fitted(canvas, height) {
  const wide = canvas.clientWidth, ratio = Math.min(window.devicePixelRatio || 1, 2);
  if (!wide) return null;
  const high = height(wide);
  canvas.style.height = `${high}px`;
  canvas.width = Math.round(wide * ratio);
  canvas.height = Math.round(high * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { pen, wide, high };
}

function blank(wide, high) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, Math.round(wide)), Math.max(1, Math.round(high))];
  return [canvas, canvas.getContext("2d")];
}

/** The members of all clusters: strips of thumbnails, framed in the colour of their task. */
class Thumbnails {
  constructor(canvas, log) {
    Object.assign(this, { canvas, log });
    [this.small, this.ink] = blank(log.shape[1], log.shape[0]);
    this.data = this.ink.createImageData(log.shape[1], log.shape[0]);
  }

  /** As many columns of strips as fit the room best, with whole pools below each other. */
  resize() {
    const { log } = this, [high, wide] = log.shape, zoom = Math.max(1, Math.ceil(24 / Math.max(high, wide)));
    this.cell = [BAND + wide * zoom + FRAME, high * zoom + 2 * FRAME];
    const aspect = this.canvas.clientWidth < 600 ? 1 : ASPECT;
    let best = Infinity;
    for (let rows = 1; rows <= log.of_pool; rows++) {
      if (log.pools > 1 && log.of_pool % rows) continue;
      const columns = Math.ceil(log.clusters / rows);
      const w = columns * (log.size * this.cell[0] + GAP), h = rows * (this.cell[1] + FRAME);
      const bad = Math.abs(Math.log(w / h / aspect)) + 2 * (1 - log.clusters / (rows * columns));
      if (bad < best) { best = bad; [this.rows, this.w, this.h] = [rows, w, h]; }
    }
    const room = fitted(this.canvas, (width) => Math.min(width, this.w) * (this.h / this.w));
    if (!room) return false;
    this.pen = room.pen;
    this.scale = Math.min(room.wide / this.w, room.high / this.h);
    this.pen.scale(this.scale, this.scale);
    this.pen.imageSmoothingEnabled = false;
    this.pen.fillStyle = PAPER;
    this.pen.fillRect(0, 0, this.w * 2, this.h * 2);
    this.marked = [];
    for (let place = 0; place < log.places; place++) this.place(place);
    return true;
  }

  corner(place) {
    const cluster = Math.floor(place / this.log.size), column = Math.floor(cluster / this.rows);
    return [column * (this.log.size * this.cell[0] + GAP) + GAP / 2 + (place % this.log.size) * this.cell[0],
      (cluster % this.rows) * (this.cell[1] + FRAME) + 1];
  }

  place(place) {
    const { pen, log } = this, [x, y] = this.corner(place), [wide, high] = this.cell, event = log.held[place];
    pen.fillStyle = PAPER;
    pen.fillRect(x - 1, y - 1, wide + 1, high + 2);
    if (event < 0) { pen.strokeStyle = EMPTY; pen.lineWidth = 1; pen.strokeRect(x + 0.5, y + 0.5, wide - 3, high - 3); return; }
    const look = log.tasks[log.task[event]], [h, w, channels] = log.shape, from = log.image[event] * h * w * channels;
    pen.fillStyle = look.colour;
    pen.fillRect(x, y, wide - 1, high - 1);
    for (let i = 0; i < h * w; i++) {
      for (let c = 0; c < 3; c++) this.data.data[4 * i + c] = log.pixels[from + i * channels + (channels > 1 ? c : 0)];
      this.data.data[4 * i + 3] = 255;
    }
    this.ink.putImageData(this.data, 0, 0);
    pen.drawImage(this.small, x + BAND, y + FRAME, wide - BAND - FRAME - 1, high - 2 * FRAME - 1);
    pen.fillStyle = look.ink;
    pen.font = "bold 12px sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(look.number, x + BAND / 2, y + high / 2);
  }

  draw(came, followed) {
    const { pen, log } = this, again = new Set(log.changed);
    for (const place of this.marked) again.add(place);
    for (const place of again) this.place(place);
    this.marked = [];
    const frame = (from, places, colour) => {
      const [x, y] = this.corner(from);
      pen.strokeStyle = colour;
      pen.lineWidth = 2.5;
      pen.strokeRect(x + 1, y + 1, places * this.cell[0] - 3, this.cell[1] - 3);
      for (let p = from - 1; p <= from + places; p++) if (p >= 0 && p < log.places) this.marked.push(p);
    };
    if (followed !== null) frame(followed * log.size, log.size, "#000000");
    if (came) frame(log.place[came.event], 1, NOW);
  }

  clusterAt(x, y) {
    const [left, top] = [x / this.scale, y / this.scale];
    const column = Math.floor(left / (this.log.size * this.cell[0] + GAP)), row = Math.floor(top / (this.cell[1] + FRAME));
    const cluster = column * this.rows + row;
    return row < this.rows && cluster < this.log.clusters ? cluster : null;
  }
}

const LEFT = 34, LOW = 20, TOP = 4;

/** Something against the steps of the run; what was not reached yet is covered. */
class OverTime {
  constructor(canvas, log, paint) { Object.assign(this, { canvas, log, paint, reached: 0 }); }

  resize() {
    const room = fitted(this.canvas, () => 170);
    if (!room) return false;
    Object.assign(this, room, { w: room.wide - LEFT - 8, h: room.high - LOW - TOP });
    const moments = Math.max(1, Math.min(600, Math.floor(this.w), this.log.steps));
    [this.ground, this.brush] = blank(moments, this.h);
    this.paint(this.brush, this.log, this.log.overTime(moments), moments, this.h);
    return true;
  }

  draw(step, labels) {
    const { pen, log, w, h } = this, x = (at) => LEFT + (at / log.steps) * w;
    this.reached = Math.max(this.reached, step + 1);
    pen.fillStyle = PAPER;
    pen.fillRect(0, 0, this.wide, this.high);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.ground, LEFT, TOP, w, h);
    pen.fillStyle = LATER;
    pen.fillRect(x(this.reached), TOP, LEFT + w - x(this.reached), h);
    pen.strokeStyle = "#767676";
    pen.lineWidth = 1;
    pen.strokeRect(LEFT, TOP, w, h);
    pen.fillStyle = INK;
    pen.font = "11px sans-serif";
    pen.textBaseline = "top";
    for (const [part, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
      pen.textAlign = align;
      pen.fillText(count(Math.round(log.steps * part)), LEFT + w * part, TOP + h + 5);
    }
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const [text, at] of labels) pen.fillText(text, LEFT - 4, TOP + 5 + at * (h - 10));
    pen.fillStyle = NOW;
    pen.fillRect(x(step + 0.5) - 1, TOP, 2, h);
  }
}

function paintOldest(brush, log, { oldest }, moments, high) {
  for (let m = 0; m < moments; m++) for (let c = 0; c < log.clusters; c++) {
    const task = oldest[c * moments + m];
    brush.fillStyle = task < 0 ? "#f4f4f4" : log.tasks[task].colour;
    brush.fillRect(m, (c / log.clusters) * high, 1, high / log.clusters + 0.5);
  }
  brush.fillStyle = "#ffffff";
  for (let pool = 1; pool < log.pools; pool++) brush.fillRect(0, (pool / log.pools) * high - 1, moments, 2);
}

function paintShares(brush, log, { shares }, moments, high) {
  const base = new Float32Array(moments);
  log.tasks.forEach((look, t) => {
    brush.fillStyle = look.colour;
    let widest = 0, at = 0;
    for (let m = 0; m < moments; m++) {
      const share = shares[t * moments + m];
      brush.fillRect(m, high * (1 - base[m] - share), 1, high * share + 0.5);
      base[m] += share;
      if (share > widest && m > moments * 0.05 && m < moments * 0.95) [widest, at] = [share, m];
    }
    if (widest < 0.12) return;
    brush.fillStyle = look.ink;
    brush.font = "bold 12px sans-serif";
    brush.textAlign = "center";
    brush.textBaseline = "middle";
    brush.fillText(look.number, at, high * (1 - base[at] + widest / 2));
  });
}

const SHAPES = ["●", "■", "◆", "▲", "▼", "✚", "✖", "★", "⬢", "⬟"];

/** Members, means and the newcomer on the first two principal components. */
class Plane {
  constructor(canvas, log) {
    Object.assign(this, { canvas, log });
    const range = (axis) => {
      let low = Infinity, high = -Infinity;
      for (let i = axis; i < log.spots.length; i += 2) { low = Math.min(low, log.spots[i]); high = Math.max(high, log.spots[i]); }
      const room = 0.06 * (high - low) + 1e-6;
      return [low - room, high + room];
    };
    this.range = [range(0), range(1)];
  }

  resize() {
    const room = fitted(this.canvas, () => 170);
    if (room) Object.assign(this, room);
    return Boolean(room);
  }

  at([x, y]) {
    const [[left, right], [low, high]] = this.range;
    return [((x - left) / (right - left)) * this.wide, (1 - (y - low) / (high - low)) * this.high];
  }

  spot(event) { const i = 2 * this.log.image[event]; return this.at([this.log.spots[i], this.log.spots[i + 1]]); }

  draw(came, followed) {
    const { pen, log } = this;
    pen.fillStyle = PAPER;
    pen.fillRect(0, 0, this.wide, this.high);
    pen.strokeStyle = "#767676";
    pen.lineWidth = 1;
    pen.strokeRect(0.5, 0.5, this.wide - 1, this.high - 1);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = "10px sans-serif";
    const line = (from, to, colour, wide) => {
      pen.strokeStyle = colour; pen.lineWidth = wide;
      pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke();
    };
    for (const event of log.held) if (event >= 0) {
      pen.fillStyle = log.tasks[log.task[event]].colour;
      pen.fillText(SHAPES[log.task[event] % SHAPES.length], ...this.spot(event));
    }
    this.means = [];
    for (let c = 0; c < log.clusters; c++) {
      const members = log.members(c);
      if (!members.length) continue;
      const middle = this.at(log.mean(members));
      this.means.push([c, ...middle]);
      if (c === followed) for (const e of members) line(middle, this.spot(e), "#000000", 1.5);
      for (const [colour, wide] of [["#000000", 3], ["#ffffff", 1.4]]) {
        line([middle[0] - 4, middle[1]], [middle[0] + 4, middle[1]], colour, wide);
        line([middle[0], middle[1] - 4], [middle[0], middle[1] + 4], colour, wide);
      }
    }
    if (!came) return;
    const star = this.spot(came.event);
    if (came.means.nearest) line(star, this.at(came.means.nearest), NOW, 2.5);
    if (came.means.own && came.nearest !== came.cluster) line(star, this.at(came.means.own), NOW, 1);
    pen.font = "22px sans-serif";
    pen.lineWidth = 3;
    pen.strokeStyle = PAPER;
    pen.strokeText("★", ...star);
    pen.fillStyle = NOW;
    pen.fillText("★", ...star);
  }

  clusterAt(x, y) {
    let best = [Infinity, null];
    for (const [c, left, top] of this.means ?? []) best = [best, [(left - x) ** 2 + (top - y) ** 2, c]].sort((a, b) => a[0] - b[0])[0];
    return best[0] < 900 ? best[1] : null;
  }
}

const SPEEDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];  // steps a frame
const START = "Press Play: samples stream past, and the memory fills. Or drag the step, or go on arrival by arrival.";
const HINT = "Click a cluster in any view, or choose one in “Follow”, and see it in all of them.";

function render({ model, el }) {
  const log = new Recording(...["_meta", "_events", "_pixels", "_spots", "_names"].map((name) => model.get(name)));
  const root = document.createElement("div");
  root.className = "tacl-memory";
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Memory player");
  root.innerHTML = `<style>${STYLE}</style>
    <div class="bar"><button class="play" type="button">▶ Play</button>
      <button class="back" type="button" title="Go back to the arrival before">◀ Back</button>
      <button class="on" type="button" title="Go on to the next arrival">Next ▶</button>
      <label class="grow">Step <input class="step" type="range" min="0" max="${log.steps - 1}" value="0"></label>
      <label>Speed <select class="speed"></select></label>
      <label>Follow <select class="follow"><option value="">none</option></select></label></div>
    <div class="said" role="status" aria-live="polite"></div>
    <figure><figcaption>In the memory now: a strip per cluster, framed and numbered by task</figcaption><canvas class="thumbs" role="img"></canvas></figure>
    <div class="below">
      <figure><figcaption>Over time: the oldest task in each cluster</figcaption><canvas class="oldest" role="img"></canvas></figure>
      <figure><figcaption>Share of each task</figcaption><canvas class="share" role="img"></canvas></figure>
      <figure><figcaption>Map: ★ newcomer, + cluster means</figcaption><canvas class="map" role="img"></canvas></figure></div>
    <div class="key"></div><div class="story"></div>`;
  el.appendChild(root);
  const find = (name) => root.querySelector(`.${name}`);
  const slider = find("step"), play = find("play"), speed = find("speed"), follow = find("follow");
  for (const look of log.tasks) {
    const entry = find("key").appendChild(document.createElement("span")), tag = entry.appendChild(document.createElement("b"));
    Object.assign(tag.style, { background: look.colour, color: look.ink });
    tag.textContent = look.number;
    entry.append(`${SHAPES[look.number % SHAPES.length]} ${look.name}`);
  }
  for (let c = 0; c < log.clusters; c++) follow.add(new Option(String(c), String(c)));
  for (const each of SPEEDS) if (each <= log.steps / 20 || each === 1) speed.add(new Option(`${count(each)} step${each > 1 ? "s" : ""} a frame`, each));
  const wanted = log.steps / 60 / 40;  // all of it in about 40 seconds
  speed.value = [...speed.options].map((o) => Number(o.value)).reduce((a, b) => Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a);

  const thumbs = new Thumbnails(find("thumbs"), log), plane = new Plane(find("map"), log);
  const oldest = new OverTime(find("oldest"), log, paintOldest), share = new OverTime(find("share"), log, paintShares);
  let step = Math.min(Number(model.get("step") ?? 0), log.steps - 1), followed = null, ready = false;

  function draw(quiet) {
    if (!ready) return;
    log.goTo(step);
    const came = log.arrival();
    thumbs.draw(came, followed);
    oldest.draw(step, [["0", 0], [String(log.clusters - 1), 1]]);
    if (followed !== null) {
      const { pen, w, h } = oldest, high = h / log.clusters;
      pen.lineWidth = 2; pen.strokeStyle = "#ffffff"; pen.strokeRect(LEFT - 1, TOP + followed * high - 2, w + 2, high + 4);
      pen.lineWidth = 1.5; pen.strokeStyle = "#000000"; pen.strokeRect(LEFT, TOP + followed * high - 1, w, high + 2);
    }
    share.draw(step, [["100 %", 0], ["0", 1]]);
    plane.draw(came, followed);
    log.changed.clear();
    slider.value = step;
    find("said").textContent = log.sentence(step, came);
    find("story").textContent = followed === null ? (step ? HINT : START) : log.story(followed);
    if (quiet) return;
    const held = log.counts().map((n, task) => `${n} of task ${task}`).join(", ");
    slider.setAttribute("aria-valuetext", `step ${step} of ${log.steps}`);
    find("thumbs").setAttribute("aria-label", `Images in the memory at step ${count(step)}: ${held}.`);
    find("oldest").setAttribute("aria-label", `The oldest task in each of ${log.clusters} clusters over ${count(log.steps)} steps.`);
    find("share").setAttribute("aria-label", `Share of each task in the memory over time; now ${held}.`);
    find("map").setAttribute("aria-label", "The members of the memory on their first two principal components.");
  }
  const show = (at, quiet) => { step = Math.max(0, Math.min(log.steps - 1, at)); draw(quiet); };
  const keep = () => { model.set("step", step); model.save_changes(); };

  let frame = 0, frames = 0, since = 0;
  function stop() {
    if (!frame) return;
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = "▶ Play";
    find("said").setAttribute("aria-live", "polite");
    draw();
    keep();
  }
  function tick(time) {
    if (!since) [since, frames] = [time, 0];
    else if (++frames >= 30) { root.dataset.rate = ((1000 * frames) / (time - since)).toFixed(1); [since, frames] = [time, 0]; }
    show(step + Number(speed.value), true);
    if (step >= log.steps - 1) stop(); else frame = requestAnimationFrame(tick);
  }
  play.onclick = () => {
    if (frame) return stop();
    if (step >= log.steps - 1) step = 0;
    play.textContent = "⏸ Pause";
    find("said").setAttribute("aria-live", "off");  // a reader of the screen hears where it stops, not every frame
    since = 0;
    frame = requestAnimationFrame(tick);
  };
  slider.oninput = () => { const at = Number(slider.value); stop(); show(at); };
  slider.onchange = keep;
  const neighbour = (way) => () => {
    stop();
    const event = way > 0 ? log.until(step) : log.until(step - 1) - 1;
    if (event >= 0 && event < log.events) show(log.step[event]);
    keep();
  };
  find("on").onclick = neighbour(1);
  find("back").onclick = neighbour(-1);
  follow.onchange = () => { followed = follow.value === "" ? null : Number(follow.value); draw(); };
  const choose = (cluster) => {
    if (cluster === null) return;
    follow.value = followed === cluster ? "" : String(cluster);
    follow.onchange();
  };
  const inside = (event) => { const box = event.target.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  find("thumbs").onclick = (event) => choose(thumbs.clusterAt(...inside(event)));
  find("map").onclick = (event) => choose(plane.clusterAt(...inside(event)));
  find("oldest").onclick = (event) => {
    const at = (inside(event)[1] - TOP) / oldest.h;
    if (at >= 0 && at < 1) choose(Math.floor(at * log.clusters));
  };
  const moved = () => { if (Number(model.get("step")) !== step && !frame) show(Number(model.get("step"))); };
  model.on("change:step", moved);
  let wide = 0;
  const resized = new ResizeObserver(() => {
    if (root.clientWidth === wide) return;
    wide = root.clientWidth;
    log.goTo(step);
    ready = [thumbs, oldest, share, plane].map((part) => part.resize()).every(Boolean);
    draw();
  });
  resized.observe(root);
  return () => { cancelAnimationFrame(frame); resized.disconnect(); model.off("change:step", moved); };
}
export default { render };
