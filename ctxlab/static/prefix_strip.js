// The prefix strip, block by block: a button lies over every block of the picture; its words appear below. All of it
// happens here, so it also works after the kernel is gone.

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function render({ model, el }) {
  const picture = document.createElement("div");
  const words = document.createElement("p");
  picture.className = "ctxlab-strip";
  picture.innerHTML = model.get("picture");
  words.className = "ctxlab-strip-words";
  words.setAttribute("role", "status");
  words.textContent = "Tab or the arrow keys move from block to block.";

  const svg = picture.querySelector("svg");
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const overlay = document.createElement("div");
  overlay.setAttribute("role", "group");
  overlay.setAttribute("aria-label", "blocks of the request, in order");
  const buttons = [...svg.querySelectorAll("[data-block]")].map((shape, at) => {
    const button = document.createElement("button");
    const share = (name, whole) => (100 * Number(shape.getAttribute(name))) / whole + "%";
    const [name, says] = model.get("blocks")[at];
    button.type = "button";
    button.setAttribute("aria-label", name);
    Object.assign(button.style, {
      left: share("x", width),
      top: share("y", height),
      width: share("width", width),
      height: share("height", height),
    });
    button.addEventListener("focus", () => (words.textContent = `${name}: ${says}`));
    button.addEventListener("click", () => button.focus());
    button.addEventListener("keydown", (event) => {
      if (!(event.key in MOVES) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      buttons[at + MOVES[event.key]]?.focus();
    });
    return button;
  });
  overlay.append(...buttons);
  const frame = document.createElement("div");
  frame.className = "ctxlab-strip-frame";
  svg.replaceWith(frame);
  frame.append(svg, overlay);
  el.append(picture, words);
}

export default { render };
