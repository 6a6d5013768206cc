// A native range input with a label and a read-out. JupyterLab leaves the arrow keys to the input's listeners
// but cancels what the browser would do; Notebook 7 takes them at the document before the input sees them.
// So the control listens at the window, first of all, and moves itself on every key a slider answers to.

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

function render({ model, el }) {
  const label = document.createElement("label");
  const name = document.createElement("span");
  const input = document.createElement("input");
  const readout = document.createElement("output");
  label.className = "ctxlab-range";
  name.textContent = model.get("label");
  input.type = "range";
  input.setAttribute("aria-label", model.get("label"));
  for (const side of ["min", "max", "step"]) input[side] = model.get(side);

  const show = () => {
    const unit = model.get("unit");
    input.value = model.get("value");
    readout.textContent = model.get("value").toLocaleString("en-US") + (unit ? " " + unit : "");
    input.setAttribute("aria-valuetext", readout.textContent);
  };
  const send = () => {
    model.set("value", input.valueAsNumber);
    model.save_changes();
    show();
  };
  const press = (event) => {
    if (event.target !== input || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Home") input.value = input.min;
    else if (event.key === "End") input.value = input.max;
    else if (event.key in STEPS) input.stepUp(STEPS[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
    send();
  };

  input.addEventListener("input", send);
  window.addEventListener("keydown", press, true);
  model.on("change:value", show);
  label.append(name, input, readout);
  el.append(label);
  show();
  return () => {
    window.removeEventListener("keydown", press, true);
    model.off("change:value", show);
  };
}

export default { render };
