// Questions with radio buttons (arrow keys and space work by themselves) and a sentence for each choice.
const STYLE = `
.tacl-quiz { color: var(--jp-ui-font-color1, CanvasText); font: 14px/1.5 var(--jp-ui-font-family, sans-serif); max-width: 760px; }
.tacl-quiz fieldset { border: 1px solid var(--jp-border-color1, #9a9a9a); border-radius: 6px; margin: 8px 0; padding: 4px 14px 10px; min-width: 0; }
.tacl-quiz legend { font-weight: 600; padding: 0 6px; float: left; width: 100%; margin: 6px 0 4px -6px; }
.tacl-quiz label { display: flex; gap: 8px; padding: 3px 0; clear: both; cursor: pointer; }
.tacl-quiz input { margin-top: 4px; flex: none; }
.tacl-quiz .why { min-height: 1.5em; margin-top: 4px; padding-left: 10px; border-left: 4px solid transparent; clear: both; }
.tacl-quiz .why.right { border-color: #2f8f46; } .tacl-quiz .why.wrong { border-color: #c93a06; }
.tacl-quiz .score { font-weight: 600; }
`;

// Ctrl and Cmd are the notebook's (Ctrl+S saves), all other keys the control's. Notebook 7 looks for its shortcuts before
// a control sees a key, so the control must say beforehand that keys are its own.
function keys(event) {
  const own = !(event.ctrlKey || event.metaKey);
  if (own) event.target.dataset.lmSuppressShortcuts = "true";
  else delete event.target.dataset.lmSuppressShortcuts;
  if (own) event.stopPropagation();
}

function render({ model, el }) {
  const questions = model.get("_questions");
  const root = document.createElement("div");
  root.className = "tacl-quiz";
  const style = document.createElement("style");
  style.textContent = STYLE;
  root.appendChild(style);
  const group = `quiz${Math.random().toString(36).slice(2)}`;
  const score = document.createElement("div");
  score.className = "score";
  score.setAttribute("role", "status");
  const tell = () => { score.textContent = `${model.get("right").length} of ${questions.length} right`; };

  questions.forEach((question, number) => {
    const field = document.createElement("fieldset"), legend = document.createElement("legend");
    legend.textContent = `${number + 1}. ${question.ask}`;
    field.appendChild(legend);
    const why = document.createElement("div");
    why.className = "why";
    why.setAttribute("aria-live", "polite");
    const show = (choice) => {
      why.className = `why ${choice.right ? "right" : "wrong"}`;
      why.textContent = `${choice.right ? "✓ Right." : "✗ Not quite."} ${choice.why}`;
    };
    for (const choice of question.choices) {
      const label = document.createElement("label"), input = document.createElement("input");
      input.type = "radio";
      input.name = `${group}-${number}`;
      const text = document.createElement("span");
      text.textContent = choice.text;
      label.append(input, text);
      field.appendChild(label);
      if (choice.right && model.get("right").includes(number)) { input.checked = true; show(choice); }
      input.onchange = () => {
        show(choice);
        if (choice.right && !model.get("right").includes(number)) {
          model.set("right", [...model.get("right"), number]);
          model.save_changes();
        }
        tell();
      };
      input.onkeydown = input.onkeyup = keys;
      input.dataset.lmSuppressShortcuts = "true";  // see keys
    }
    field.appendChild(why);
    root.appendChild(field);
  });
  root.appendChild(score);
  tell();
  el.appendChild(root);
}
export default { render };
