// Replays what memories held: in a notebook and on the site alike, in the browser alone. Nothing is fetched and no kernel
// is asked. What it is given is made by recording.py; a step is shown by going from the last one shown, event by event.
const NOW = "#d6006c", INK = "#1a1a1a", EMPTY = "#dcdcdc", PAPER = "#ffffff", LATER = "#ececec";
const FRAME = 2, BAND = 13, GAP = 8, HEAD = 15, LARGEST = 1.4;

const STYLE = `
.tacl-memory { color: var(--jp-ui-font-color1, var(--color-foreground-primary, CanvasText)); container-type: inline-size;
  font: 14px/1.45 var(--jp-ui-font-family, inherit); max-width: 1160px; position: relative; }
.tacl-memory .title { font-weight: 600; font-size: 15px; } .tacl-memory .title:empty { display: none; }
.tacl-memory .bar { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; margin: 4px 0; }
.tacl-memory .bar label { display: flex; gap: 6px; align-items: center; }
.tacl-memory .grow { flex: 1 1 200px; } .tacl-memory .grow input { flex: 1; min-width: 90px; margin: 2px 6px; }
.tacl-memory :is(button, select) { font: inherit; color: inherit; padding: 2px 10px; border-radius: 4px; cursor: pointer;
  border: 1px solid currentColor; background: var(--jp-layout-color1, var(--color-background-primary, Canvas)); }
.tacl-memory :is(button, select, input):focus-visible { outline: 3px solid #1c6fb5; outline-offset: 2px; }
.tacl-memory .sides { display: grid; gap: 10px; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; }
.tacl-memory figure { margin: 0; min-width: 0; background: ${PAPER}; color: ${INK}; border-radius: 6px; padding: 4px 8px 6px; }
.tacl-memory figcaption { font-size: 13px; text-align: left; margin: 0 0 2px; color: ${INK}; }
.tacl-memory canvas { display: block; width: 100%; cursor: pointer; }
.tacl-memory .below { display: grid; grid-template-columns: 1.5fr 1fr 1fr; gap: 8px; margin-top: 8px; }
.tacl-memory .below.two { grid-template-columns: 1.5fr 1fr; }
.tacl-memory .said { height: 3em; overflow: auto; } .tacl-memory .story { min-height: 1.5em; }
.tacl-memory .message { min-height: 1.5em; color: var(--jp-error-color1, #b3261e); overflow-wrap: anywhere; }
.tacl-memory .key span { display: inline-block; margin-right: 14px; }
.tacl-memory .key b { padding: 1px 6px; margin-right: 4px; border-radius: 3px; }
.tacl-memory .hover { position: absolute; pointer-events: none; white-space: pre-line; z-index: 2; padding: 2px 8px;
  font-size: 12px; background: ${PAPER}; color: ${INK}; border: 1px solid #767676; border-radius: 4px; max-width: 260px; }
@container (max-width: 700px) {
  .tacl-memory .sides { grid-auto-flow: row; }
  .tacl-memory :is(.below, .below.two) { grid-template-columns: minmax(0, 1fr); } .tacl-memory .said { height: 4.5em; }
}
`;

const typed = (view, Kind) => {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return new Kind(bytes.slice().buffer);
};
const count = (number) => number.toLocaleString("en-US");

/** A log that can be read at any step: what each place holds, and what there is to say of it. */
export class Recording {
  constructor({ meta, events, pixels, spots, names, divisor }) {
    Object.assign(this, meta);
    const all = typed(events, Int32Array), n = (this.events = all.length / 4);
    [this.step, this.place, this.image, this.task] = [0, 1, 2, 3].map((i) => all.subarray(i * n, (i + 1) * n));
    this.pixels = typed(pixels, Uint8Array);
    this.spots = typed(spots, Float32Array);
    this.nameOf = typed(names, Int16Array);
    this.weight = typed(divisor, Float32Array).map((each) => 1 / each ** 2);  // distances are those of scaled inputs
    this.mapped = this.spots.length > 0;
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
          far += this.weight[k] * (sum / members.length - this.pixels[this.image[event] * length + k]) ** 2;
        }
        if (far < best * (1 - 1e-9)) { best = far; nearest = c; }
      }
    }
    return { event, step: this.step[event], cluster, task: this.task[event], opened, nearest,
      replaced: left < 0 ? null : this.task[left], means: this.mapped && { own: opened ? null : this.mean(was(cluster)), nearest: nearest === null ? null : this.mean(was(nearest)) } };
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
    let came = 0;
    for (let e = 0; e < this.now; e++) if (Math.floor(this.place[e] / this.size) === cluster) came++;
    return `${named} holds ${tasks}; its oldest member came at step ${count(since)}; ${count(came)} sample${came > 1 ? "s" : ""} came so far.`;
  }

  /** One member in words. */
  member(event) {
    if (event < 0) return "empty";
    return `${this.names[this.nameOf[this.image[event]]]} of task ${this.task[event]}, since step ${count(this.step[event])}`;
  }

  /** The step at which the first sample of each task came; of some none may come. */
  firsts() {
    const found = new Map();
    for (let e = 0; e < this.events; e++) if (!found.has(this.task[e])) found.set(this.task[e], this.step[e]);
    return [...found];
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

/** A canvas like another one, on white, for what stays the same. */
function layer(like, draw) {
  const [made, pen] = blank(like.width, like.height);
  pen.fillStyle = PAPER;
  pen.fillRect(0, 0, made.width, made.height);
  pen.setTransform(like.getContext("2d").getTransform());
  draw(pen);
  return made;
}

function blank(wide, high) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, Math.round(wide)), Math.max(1, Math.round(high))];
  return [canvas, canvas.getContext("2d")];
}

/** The members of all clusters: strips of thumbnails, framed in the colour of their task. */
class Thumbnails {
  constructor(canvas, log, aspect) {
    Object.assign(this, { canvas, log, aspect });
    [this.small, this.ink] = blank(log.shape[1], log.shape[0]);
    this.data = this.ink.createImageData(log.shape[1], log.shape[0]);
  }

  /** As many columns of strips as fit the room best, with whole pools below each other. */
  resize() {
    const { log } = this, [high, wide] = log.shape, zoom = Math.max(1, Math.ceil(24 / Math.max(high, wide)));
    this.cell = [BAND + wide * zoom + FRAME, high * zoom + 2 * FRAME];
    const aspect = this.aspect();
    this.head = log.pools > 1 ? HEAD : 0;
    let best = Infinity;
    for (let rows = 1; rows <= log.of_pool; rows++) {
      if (log.pools > 1 && log.of_pool % rows) continue;
      const columns = Math.ceil(log.clusters / rows);
      const w = columns * (log.size * this.cell[0] + GAP), h = rows * (this.cell[1] + FRAME) + this.head;
      const bad = Math.abs(Math.log(w / h / aspect)) + 2 * (1 - log.clusters / (rows * columns));
      if (bad < best) { best = bad; [this.rows, this.w, this.h] = [rows, w, h]; }
    }
    const room = fitted(this.canvas, (width) => Math.min(width, LARGEST * this.w) * (this.h / this.w));
    if (!room) return false;
    // From here on in the screen's own pixels: places are drawn anew one by one, and nothing stays of what was there.
    this.ratio = this.canvas.width / room.wide;
    const unit = Math.min(room.wide / this.w, room.high / this.h) * this.ratio, px = (size) => Math.max(1, Math.floor(size * unit));
    [this.band, this.frame, this.gap, this.letters] = [BAND, FRAME, GAP, 12].map(px);
    this.cell = this.cell.map(px);
    this.head = this.head && px(HEAD);
    const { pen } = (this.pen = room.pen, this);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.fillStyle = PAPER;
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    pen.fillStyle = INK;
    pen.font = `${px(11)}px sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const across = (log.of_pool / this.rows) * (log.size * this.cell[0] + this.gap);
    const name = pen.measureText("pool of class 00").width < across ? "pool of class " : "";
    for (let pool = 0; this.head && pool < log.pools; pool++) pen.fillText(`${name}${pool}`, (pool + 0.5) * across, 1);
    this.marked = [];
    for (let place = 0; place < log.places; place++) this.place(place);
    return true;
  }

  corner(place) {
    const cluster = Math.floor(place / this.log.size), column = Math.floor(cluster / this.rows);
    return [column * (this.log.size * this.cell[0] + this.gap) + (this.gap >> 1) + (place % this.log.size) * this.cell[0],
      this.head + (cluster % this.rows) * (this.cell[1] + this.frame) + 1];
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
    const { band, frame } = this;
    pen.drawImage(this.small, x + band, y + frame, wide - band - frame - 1, high - 2 * frame - 1);
    pen.fillStyle = look.ink;
    pen.font = `bold ${this.letters}px sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(look.number, x + band / 2, y + high / 2);
  }

  draw(came, followed) {
    const { pen, log } = this, again = new Set(log.changed);
    for (const place of this.marked) again.add(place);
    for (const place of again) this.place(place);
    this.marked = [];
    const frame = (from, places, colour) => {
      const [x, y] = this.corner(from);
      pen.strokeStyle = colour;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, places * this.cell[0] - 3, this.cell[1] - 3);
      for (let p = from - 1; p <= from + places; p++) if (p >= 0 && p < log.places) this.marked.push(p);
    };
    if (followed !== null) frame(followed * log.size, log.size, "#000000");
    if (came) frame(log.place[came.event], 1, NOW);
  }

  clusterAt(x, y) {
    const [left, top] = [x * this.ratio, y * this.ratio - this.head];
    const column = Math.floor(left / (this.log.size * this.cell[0] + this.gap)), row = Math.floor(top / (this.cell[1] + this.frame));
    const cluster = column * this.rows + row;
    return row >= 0 && row < this.rows && cluster < this.log.clusters ? cluster : null;
  }

  textAt(x, y) {
    const cluster = this.clusterAt(x, y), { log } = this;
    if (cluster === null) return "";
    const slot = Math.floor((x * this.ratio - this.corner(cluster * log.size)[0]) / this.cell[0]);
    return `${log.where(cluster)}\n${slot >= 0 && slot < log.size ? log.member(log.held[cluster * log.size + slot]) : ""}`;
  }
}

const LEFT = 46, LOW = 20;

/** Something against the steps of the run; what was not reached yet is covered. */
class OverTime {
  constructor(canvas, log, paint, labels, top) { Object.assign(this, { canvas, log, paint, labels, top, reached: 0 }); }

  resize() {
    const room = fitted(this.canvas, () => 170);
    if (!room) return false;
    Object.assign(this, room, { w: room.wide - LEFT - 8, h: room.high - LOW - this.top });
    this.moments = Math.max(1, Math.min(600, Math.floor(this.w), this.log.steps));
    this.over = this.log.overTime(this.moments);
    this.still = layer(this.canvas, (pen) => this.ground(pen));
    return true;
  }

  /** What stays the same from step to step. */
  ground(pen) {
    const { log, w, h, top } = this, [picture, brush] = blank(this.moments, h);
    this.paint(brush, log, this.over, this.moments, h);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, LEFT, top, w, h);
    pen.strokeStyle = "#767676";
    pen.lineWidth = 1;
    pen.strokeRect(LEFT, top, w, h);
    pen.fillStyle = INK;
    pen.font = "11px sans-serif";
    pen.textBaseline = "top";
    for (const [part, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
      pen.textAlign = align;
      pen.fillText(`${part === 0 ? "step " : ""}${count(Math.round(log.steps * part))}`, LEFT + w * part, top + h + 5);
    }
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const [text, at] of this.labels) pen.fillText(text, LEFT - 4, top + 5 + at * (h - 10));
  }

  x(step) { return LEFT + (step / this.log.steps) * this.w; }

  draw(step) {
    const { pen, w, h, top } = this;
    this.reached = Math.max(this.reached, step + 1);
    pen.drawImage(this.still, 0, 0, this.wide, this.high);
    const later = this.x(this.reached);
    pen.fillStyle = PAPER;
    pen.fillRect(later, 0, this.wide - later, top - 1);
    pen.fillStyle = LATER;
    pen.fillRect(later, top, LEFT + w - later, h);
    pen.fillStyle = NOW;
    pen.fillRect(this.x(step + 0.5) - 1, top, 2, h);
  }

  /** The moment and the height below the pointer, from 0 to 1; null beside the chart and where nothing is known yet. */
  within(x, y) {
    const [across, down] = [(x - LEFT) / this.w, (y - this.top) / this.h], step = Math.floor(across * this.log.steps);
    return across >= 0 && across < 1 && down >= 0 && down < 1 && step < this.reached ? { step, down, moment: Math.floor(across * this.moments) } : null;
  }
}

/** The paper's figure: a line per cluster, in the colour of its oldest task. */
class Oldest extends OverTime {
  constructor(canvas, log) {
    const pools = Array.from({ length: log.pools }, (_, pool) => [`class ${pool}`, (pool + 0.5) / log.pools]);
    super(canvas, log, paintOldest, log.pools > 1 ? pools.filter((_, pool) => log.pools <= 10 || !pool) : [["0", 0], [String(log.clusters - 1), 1]], 16);
    this.firsts = log.firsts();
  }

  ground(pen) {
    super.ground(pen);
    const { log, h, w, top } = this;
    pen.textAlign = "left";
    pen.textBaseline = "bottom";
    let free = 0;
    this.names = [];
    for (const [task, first] of this.firsts) {
      const at = this.x(first);
      if (at >= free) {
        const text = w / log.tasks.length > 42 ? `task ${task}` : String(task);
        pen.fillText(text, at, top - 1);
        free = at + pen.measureText(text).width + 4;
        this.names.push([first, text, at, free]);
      }
      for (let y = top; y < top + h; y += 5) pen.fillRect(at - 0.5, y, 1, 2);
    }
  }

  draw(step, followed) {
    super.draw(step);
    const { pen, log, h, w, top } = this;
    const half = this.names.find(([first, , , end]) => first < this.reached && end > this.x(this.reached));
    if (half) {  // a name that the cover has cut
      [pen.fillStyle, pen.font, pen.textAlign, pen.textBaseline] = [INK, "11px sans-serif", "left", "bottom"];
      pen.fillText(half[1], half[2], top - 1);
    }
    if (followed === null) return;
    const high = h / log.clusters, from = top + followed * high;
    pen.lineWidth = 2; pen.strokeStyle = "#ffffff"; pen.strokeRect(LEFT - 1, from - 2, w + 2, high + 4);
    pen.lineWidth = 1.5; pen.strokeStyle = "#000000"; pen.strokeRect(LEFT, from - 1, w, high + 2);
  }

  clusterAt(x, y) {
    const at = (y - this.top) / this.h;
    return at >= 0 && at < 1 ? Math.floor(at * this.log.clusters) : null;
  }

  textAt(x, y) {
    const at = this.within(x, y);
    if (!at) return "";
    const cluster = Math.floor(at.down * this.log.clusters), task = this.over.oldest[cluster * this.moments + at.moment];
    return `${this.log.where(cluster)}, step ${count(at.step)}\n${task < 0 ? "empty" : `oldest task: ${task}`}`;
  }
}

class Share extends OverTime {
  constructor(canvas, log) { super(canvas, log, paintShares, [["100 %", 0], ["0", 1]], 4); }

  ground(pen) {
    super.ground(pen);
    pen.font = "bold 12px sans-serif";
    pen.textAlign = "center";
    for (const [task, moment, height] of shareLabels(this.log, this.over, this.moments)) {
      pen.fillStyle = this.log.tasks[task].ink;
      pen.fillText(String(task), LEFT + ((moment + 0.5) / this.moments) * this.w, this.top + this.h * (1 - height));
    }
  }

  clusterAt() { return null; }

  textAt(x, y) {
    const at = this.within(x, y);
    if (!at) return "";
    const parts = this.log.tasks.map((look, t) => [look, this.over.shares[t * this.moments + at.moment]]).filter(([, share]) => share > 0);
    return [`step ${count(at.step)}`, ...parts.map(([look, share]) => `task ${look.number}: ${Math.round(100 * share)} %`)].join("\n");
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
    for (let m = 0; m < moments; m++) {
      const share = shares[t * moments + m];
      brush.fillStyle = look.colour;
      brush.fillRect(m, high * (1 - base[m] - share), 1, high * share + 0.5);
      brush.fillStyle = INK;
      brush.fillRect(m, high * (1 - base[m]) - 0.5, 1, share && 0.7);  // an edge: areas are not told by colour alone
      base[m] += share;
    }
  });
}

/** Where the number of each task has room in its area: task, moment, height from 0 to 1. */
export function shareLabels(log, { shares }, moments) {
  const base = new Float32Array(moments), found = [];
  for (let t = 0; t < log.tasks.length; t++) {
    let widest = 0.12, at = -1;
    for (let m = 0; m < moments; m++) {
      const share = shares[t * moments + m];
      if (share > widest && m >= moments * 0.05 && m < moments * 0.95) [widest, at] = [share, m];
    }
    if (at >= 0) found.push([t, at, base[at] + widest / 2]);
    for (let m = 0; m < moments; m++) base[m] += shares[t * moments + m];
  }
  return found;
}

const SCATTERED = 1500;  // samples of the stream that are shown faintly behind the memory
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
    const of = new Map();  // an image → its task
    for (let e = 0; e < log.events; e++) of.set(log.image[e], log.task[e]);
    this.cloud = [...of].filter((_, i) => i % Math.ceil(of.size / SCATTERED) === 0);
  }

  resize() {
    const room = fitted(this.canvas, () => 170);
    if (!room) return false;
    Object.assign(this, room);
    this.still = layer(this.canvas, (pen) => {
      pen.strokeStyle = "#767676";
      pen.lineWidth = 1;
      pen.strokeRect(0.5, 0.5, this.wide - 1, this.high - 1);
      pen.globalAlpha = 0.3;
      for (const [image, task] of this.cloud) {
        pen.fillStyle = this.log.tasks[task].colour;
        pen.beginPath();
        pen.arc(...this.at([this.log.spots[2 * image], this.log.spots[2 * image + 1]]), 1.5, 0, 7);
        pen.fill();
      }
    });
    return true;
  }

  at([x, y]) {
    const [[left, right], [low, high]] = this.range;
    return [((x - left) / (right - left)) * this.wide, (1 - (y - low) / (high - low)) * this.high];
  }

  spot(event) { const i = 2 * this.log.image[event]; return this.at([this.log.spots[i], this.log.spots[i + 1]]); }

  draw(came, followed) {
    const { pen, log } = this;
    pen.drawImage(this.still, 0, 0, this.wide, this.high);
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
    const best = nearest(this.means ?? [], x, y, 30);
    return best && best[0];
  }

  textAt(x, y) {
    const held = [...this.log.held.keys()].filter((place) => this.log.held[place] >= 0);
    const member = nearest(held.map((place) => [place, ...this.spot(this.log.held[place])]), x, y, 9);
    const mean = nearest(this.means ?? [], x, y, 9);
    if (mean) return `mean of ${this.log.where(mean[0])}`;
    return member ? `${this.log.where(Math.floor(member[0] / this.log.size))}\n${this.log.member(this.log.held[member[0]])}` : "";
  }
}

/** Of [what, x, y] the one that lies nearest to a point, if it is near enough. */
function nearest(all, x, y, most) {
  let best = most ** 2, found = null;
  for (const each of all) {
    const far = (each[1] - x) ** 2 + (each[2] - y) ** 2;
    if (far < best) [best, found] = [far, each];
  }
  return found;
}

const SPEEDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];  // steps a frame
const START = "Press Play: samples stream past, and the memory fills. Or drag the step, or go on arrival by arrival.";
const HINT = "Click a cluster in any view, or choose one in “Follow”, and see it in all of them.";

const element = (kind, name, text = "") => Object.assign(document.createElement(kind), { className: name, textContent: text });

/** The views of one recording: what it says, its thumbnails, and below them timeline, share and, where it has one, a map. */
class Side {
  constructor(log, title, aspect) {
    this.log = log;
    this.name = title.split(":")[0];
    this.root = element("div", "side");
    this.said = this.root.appendChild(element("div", "said"));
    this.said.setAttribute("role", "status");
    const canvas = (into, name, caption) => {
      const figure = into.appendChild(element("figure", ""));
      figure.appendChild(element("figcaption", "", caption));
      const made = figure.appendChild(element("canvas", name));
      made.setAttribute("role", "img");
      return made;
    };
    const kind = log.clustered ? "cluster" : "row";
    this.thumbs = new Thumbnails(canvas(this.root, "thumbs", title || `In the memory now: a strip per ${kind}, framed and numbered by task`), log, aspect);
    const below = this.root.appendChild(element("div", log.mapped ? "below" : "below two"));
    this.oldest = new Oldest(canvas(below, "oldest", `Over time: the oldest task in each ${kind}`), log);
    this.share = new Share(canvas(below, "share", "Share of each task"), log);
    this.parts = [this.thumbs, this.oldest, this.share];
    if (log.mapped) this.parts.push((this.plane = new Plane(canvas(below, "map", "Map: ★ newcomer, + cluster means"), log)));
  }

  resize(step) {
    this.log.goTo(step);
    return this.parts.map((part) => part.resize()).every(Boolean);
  }

  draw(step, followed, quiet) {
    const { log } = this;
    log.goTo(step);
    const came = log.arrival();
    this.thumbs.draw(came, followed);
    this.oldest.draw(step, followed);
    this.share.draw(step);
    this.plane?.draw(came, followed);
    log.changed.clear();
    this.said.textContent = log.sentence(step, came);
    if (quiet) return;
    const held = log.counts().map((n, task) => `${n} of task ${task}`).join(", "), of = this.name && ` (${this.name})`;
    const name = (part, text) => part?.canvas.setAttribute("aria-label", text);
    name(this.thumbs, `Images in the memory${of} at step ${count(step)}: ${held}.`);
    name(this.oldest, `The oldest task in each of ${log.clusters} clusters${of} over ${count(log.steps)} steps.`);
    name(this.share, `Share of each task in the memory${of} over time; now ${held}.`);
    name(this.plane, `The members of the memory${of} on their first two principal components.`);
  }
}

/** All that belongs to the recordings that the model has now; what ends it. */
function mount(model, root) {
  const sides = model.get("_sides"), titles = model.get("_titles") ?? [];
  const logs = sides.map((side) => new Recording(side)), steps = Math.max(1, ...logs.map((log) => log.steps));
  root.innerHTML = `<style>${STYLE}</style><div class="title"></div>
    <div class="bar"><button class="play" type="button">▶ Play</button>
      <button class="back" type="button" title="Go back to the arrival before">◀ Back</button>
      <button class="on" type="button" title="Go on to the next arrival">Next ▶</button>
      <label class="grow">Step <input class="step" type="range" min="0" max="${steps - 1}" value="0"></label>
      <label>Speed <select class="speed"></select></label>
      <label>Follow <select class="follow"><option value="">none</option></select></label></div>
    <div class="sides"></div><div class="key"></div><div class="story"></div>
    <div class="message" role="status" aria-live="polite"></div><div class="hover" aria-hidden="true" hidden></div>`;
  const find = (name) => root.querySelector(`.${name}`);
  const slider = find("step"), play = find("play"), speed = find("speed"), follow = find("follow"), hover = find("hover");
  const tell = () => {
    const text = model.get("_said") ?? "", lines = text.split("\n");  // what stands between is one hover away
    const short = lines.length > 1 ? `${lines[0].replace(/:$/, "")}. ${lines.at(-1).trim()}` : text;
    Object.assign(find("message"), { textContent: text && `⚠ ${short}`, title: text });
  };
  find("title").textContent = model.get("_heading") ?? "";
  tell();
  model.on("change:_said", tell);
  const aspect = () => (root.clientWidth <= 700 ? 1 : logs.length > 1 ? 3.2 : 4.2);
  const shown = logs.map((log, number) => new Side(log, titles[number] ?? "", aspect));
  for (const side of shown) find("sides").appendChild(side.root);
  const said = (live) => { for (const side of shown) side.said.setAttribute("aria-live", live); };
  said("polite");
  for (const control of root.querySelectorAll("button, input, select")) {
    control.disabled = !logs.length;
    control.dataset.lmSuppressShortcuts = "true";  // see keys
  }
  for (const look of logs[0]?.tasks ?? []) {
    const entry = find("key").appendChild(element("span", "")), tag = entry.appendChild(element("b", "", look.number));
    Object.assign(tag.style, { background: look.colour, color: look.ink });
    entry.append(`${SHAPES[look.number % SHAPES.length]} ${look.name}`);
  }
  for (let c = 0; c < (logs[0]?.clusters ?? 0); c++) follow.add(new Option(String(c), String(c)));
  for (const each of SPEEDS) if (each <= steps / 20 || each === 1) speed.add(new Option(`${count(each)} step${each > 1 ? "s" : ""} a frame`, each));
  const wanted = steps / 60 / 40;  // all of it in about 40 seconds
  speed.value = [...speed.options].map((o) => Number(o.value)).reduce((a, b) => Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a);
  const given = () => [Math.max(0, Math.min(steps - 1, Number(model.get("step") ?? 0))), model.get("followed") ?? null];
  let [step, followed] = given(), ready = false;

  const each = (say) => shown.map(({ log, name }) => (name ? `${name}: ${say(log)}` : say(log)));
  const hint = () => (logs.length < 2 ? HINT : `Members from the first task: ${each((log) => `${log.counts()[0]} of ${log.places}`).join(", ")}.`);
  find("story").style.minHeight = `${1.5 * Math.max(1, logs.length)}em`;

  function draw(quiet) {
    if (!ready) return;
    for (const side of shown) side.draw(step, followed, quiet);
    slider.value = step;
    follow.value = followed ?? "";
    find("story").textContent = followed === null ? (step ? hint() : START) : each((log) => log.story(followed)).join(" ");
    if (!quiet) slider.setAttribute("aria-valuetext", `step ${step} of ${steps}`);
  }
  const show = (at, quiet) => { step = Math.max(0, Math.min(steps - 1, at)); draw(quiet); };
  const keep = () => { model.set("step", step); model.set("followed", followed); model.save_changes(); };

  let frame = 0, frames = 0, since = 0;
  function stop() {
    if (!frame) return;
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = "▶ Play";
    said("polite");
    draw();
    keep();
  }
  function tick(time) {
    if (!since) [since, frames] = [time, 0];
    else if (++frames >= 30) { root.dataset.rate = ((1000 * frames) / (time - since)).toFixed(1); [since, frames] = [time, 0]; }
    show(step + Number(speed.value), true);
    if (step >= steps - 1) stop(); else frame = requestAnimationFrame(tick);
  }
  function begin() {
    if (step >= steps - 1) step = 0;
    play.textContent = "⏸ Pause";
    said("off");  // a reader of the screen hears where it stops, not every frame
    since = 0;
    frame = requestAnimationFrame(tick);
  }
  play.onclick = () => (frame ? stop() : begin());
  slider.oninput = () => { const at = Number(slider.value); stop(); show(at); };
  slider.onchange = keep;
  const neighbour = (way) => () => {
    stop();
    const found = logs.map((log) => [log, way > 0 ? log.until(step) : log.until(step - 1) - 1]).filter(([log, e]) => e >= 0 && e < log.events);
    const at = found.map(([log, event]) => log.step[event]);
    if (at.length) show(way > 0 ? Math.min(...at) : Math.max(...at));
    keep();
  };
  find("on").onclick = neighbour(1);
  find("back").onclick = neighbour(-1);
  const choose = (cluster) => { followed = cluster; draw(); keep(); };
  follow.onchange = () => choose(follow.value === "" ? null : Number(follow.value));
  for (const part of shown.flatMap((side) => side.parts)) {
    part.canvas.onclick = (event) => {
      const cluster = part.clusterAt(event.offsetX, event.offsetY);
      if (cluster !== null) choose(followed === cluster ? null : cluster);
    };
    part.canvas.onmousemove = (event) => {
      const box = root.getBoundingClientRect(), left = event.clientX - box.left;
      hover.textContent = part.textAt(event.offsetX, event.offsetY).trim();
      hover.hidden = !hover.textContent;
      Object.assign(hover.style, { left: `${Math.min(left + 14, box.width - hover.offsetWidth)}px`, top: `${event.clientY - box.top + 16}px` });
    };
    part.canvas.onmouseleave = () => { hover.hidden = true; };
  }
  const moved = () => {
    const [at, cluster] = given();
    if ((at !== step || cluster !== followed) && !frame) { followed = cluster; show(at); }
  };
  const told = (content) => { if (content === "play" && !frame) { show(0); begin(); } };
  model.on("change:step", moved);
  model.on("change:followed", moved);
  model.on("msg:custom", told);
  let wide = 0;
  const resized = new ResizeObserver(() => {
    if (root.clientWidth === wide) return;
    wide = root.clientWidth;
    ready = shown.map((side) => side.resize(step)).every(Boolean);
    draw();
  });
  resized.observe(root);
  return () => {
    cancelAnimationFrame(frame);
    resized.disconnect();
    model.off("change:_said", tell);
    model.off("change:step", moved);
    model.off("change:followed", moved);
    model.off("msg:custom", told);
  };
}

// Ctrl and Cmd are the notebook's (Ctrl+S saves), all other keys the control's. Notebook 7 looks for its shortcuts before
// a control sees a key, so the control must say beforehand that keys are its own.
function keys(event) {
  const own = !(event.ctrlKey || event.metaKey);
  if (own) event.target.dataset.lmSuppressShortcuts = "true";
  else delete event.target.dataset.lmSuppressShortcuts;
  if (own) event.stopPropagation();
}

function render({ model, el }) {
  const root = el.appendChild(element("div", "tacl-memory"));
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Memory player");
  root.onkeydown = root.onkeyup = keys;
  let end = mount(model, root);
  const again = () => { end(); end = mount(model, root); };
  model.on("change:_sides", again);
  return () => { end(); model.off("change:_sides", again); };
}
export default { render };
