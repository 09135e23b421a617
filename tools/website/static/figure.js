// A figure of plotly's without its kernel: it can be pointed at and turned; its controls need JupyterLab.
const library = () => (window.taclPlotly ??= new Promise((resolve, reject) => {
  const script = document.head.appendChild(document.createElement("script"));
  Object.assign(script, { src: new URL("plotly.min.js", import.meta.url), onload: () => resolve(window.Plotly), onerror: reject });
}));

async function render({ model, el }) {
  const plotly = await library(), figure = document.createElement("figure"), card = document.createElement("div");
  card.setAttribute("role", "img");
  card.setAttribute("aria-label", el.dataset.alt || "A figure");
  figure.className = "tacl-figure";
  figure.append(card, Object.assign(document.createElement("figcaption"), { textContent: "Point at it for numbers. Its controls can be used in JupyterLab." }));
  el.appendChild(figure);
  await plotly.newPlot(card, model.get("data"), { ...model.get("layout"), autosize: true }, { displayModeBar: false, responsive: true });
}
export default { render };
