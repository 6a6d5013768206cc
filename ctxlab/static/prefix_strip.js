// The prefix strip, block by block: a button lies over every block of the picture, its words appear below.
// All of it happens here, so it goes on working when the kernel is gone. Keys are taken at the window, as in
// range_control.js.

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function render({ model, el }) {
  const picture = document.createElement("div");
  const words = document.createElement("p");
  picture.innerHTML = model.get("picture");
  words.className = "ctxlab-strip-words";
  words.setAttribute("role", "status");
  words.textContent = "Tab or the arrow keys move from block to block.";

  const svg = picture.querySelector("svg");
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const buttons = [...svg.querySelectorAll("[data-block]")].map((shape, at) => {
    const button = document.createElement("button");
    const share = (side, whole) => (100 * Number(shape.getAttribute(side))) / whole + "%";
    const [name, says] = model.get("blocks")[at];
    button.type = "button";
    button.setAttribute("aria-label", name);
    button.style.left = share("x", width);
    button.style.top = share("y", height);
    button.style.width = share("width", width);
    button.style.height = share("height", height);
    button.addEventListener("focus", () => (words.textContent = `${name}: ${says}`));
    button.addEventListener("click", () => button.focus()); // Safari gives no focus on a click
    return button;
  });
  const press = (event) => {
    const at = buttons.indexOf(event.target);
    if (at < 0 || !(event.key in MOVES) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[at + MOVES[event.key]]?.focus();
  };

  const frame = document.createElement("div");
  frame.className = "ctxlab-strip-frame";
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", "the request, block by block");
  svg.replaceWith(frame);
  frame.append(svg, ...buttons);
  window.addEventListener("keydown", press, true);
  el.append(picture, words);
  return () => window.removeEventListener("keydown", press, true);
}

export default { render };
