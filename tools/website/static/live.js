// Shows widgets without a kernel: the scripts are those of JupyterLab, their model is a file beside the page.
const here = new URL(".", import.meta.url);

const bytes = (text) => {
  const raw = atob(text), found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
  return new DataView(found.buffer);
};

/** A file's content, with its bytes as such. */
const decoded = (value) => {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.base64 === "string") return bytes(value.base64);
  if (Array.isArray(value)) return value.map(decoded);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, decoded(each)]));
};

/** What anywidget calls a model: values by name, and who wants to hear of a change. */
function modelOf(state) {
  const heard = new Map(), changed = new Set();
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; changed.add(name); },
    on: (name, call) => heard.set(name, [...(heard.get(name) ?? []), call]),
    off: (name, call) => heard.set(name, (heard.get(name) ?? []).filter((one) => one !== call)),
    save_changes: () => {
      const names = [...changed];
      changed.clear();
      for (const name of names) for (const call of heard.get(`change:${name}`) ?? []) call();
    },
  };
  return model;
}

/** What the kernel does in JupyterLab, for kinds whose script asks it for something. */
const kernels = {
  landscape: async (model) => {
    const { scene } = await import(new URL("landscape_scene.js", here));
    const redraw = () => {
      model.set("_scene", scene(model.get("start"), model.get("order"), model.get("_methods"), model.get("_fixed")));
      model.save_changes();
    };
    model.on("change:start", redraw);
    model.on("change:order", redraw);
  },
};

async function show(el) {
  const state = {};
  if (el.dataset.state) {
    const answer = await fetch(new URL(`live/${el.dataset.state}`, here));
    Object.assign(state, decoded(await answer.json()));
  }
  const { default: widget } = await import(new URL(`${el.dataset.kind}.js`, here));
  const model = modelOf(state);
  await kernels[el.dataset.kind]?.(model);
  await widget.render({ model, el });
  el.dataset.shown = "yes";
}

for (const el of document.querySelectorAll(".tacl-live")) {
  show(el).catch((error) => { el.textContent = `This part could not be shown: ${error.message}`; });
}

/** What scrolls inside the page can be reached, and scrolled, with the keyboard. */
function reachable() {
  for (const part of document.querySelectorAll("article :is(pre, table, .cell_output, .formula, .table-wrapper, .tacl-live)")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
addEventListener("load", reachable);
addEventListener("resize", reachable);
