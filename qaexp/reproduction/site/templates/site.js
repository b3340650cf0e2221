// Copies commands, sorts leaderboards, and shows what is behind a number on hover and focus. Without it, a click still opens a number.
"use strict";

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const said = button.firstChild;
    said.textContent = "Copied";
    setTimeout(() => { said.textContent = "Copy"; }, 1500);
  });
}

for (const button of document.querySelectorAll(".sort")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th"), body = heading.closest("table").tBodies[0];
    const column = heading.cellIndex, down = heading.ariaSort !== "descending";
    const value = (row) => parseFloat(row.cells[column].dataset.value);
    const order = (row, other) => {
      const first = value(row), second = value(other);
      if (isNaN(first) || isNaN(second)) return isNaN(first) - isNaN(second);  // rows without a number stay last
      return down ? second - first : first - second;
    };
    const rows = [...body.rows].sort(order);
    rows.forEach((row, place) => { row.cells[0].textContent = isNaN(value(row)) ? "" : place + 1; });
    body.append(...rows);
    for (const other of heading.parentNode.cells) other.ariaSort = null;
    heading.ariaSort = down ? "descending" : "ascending";
  });
}

for (const button of document.querySelectorAll(".ours")) {
  const pop = document.getElementById(button.getAttribute("popovertarget"));
  let timer = 0, hovered = false;
  const later = (work, delay) => { clearTimeout(timer); timer = setTimeout(work, delay); };
  const isOpen = () => pop.matches(":popover-open");
  const open = () => { if (!isOpen()) { hovered = true; pop.showPopover(); } };
  const close = () => { if (isOpen() && hovered && !pop.contains(document.activeElement)) pop.hidePopover(); };
  pop.addEventListener("beforetoggle", () => clearTimeout(timer));  // what Enter opened or Escape closed is not opened again by focus
  pop.addEventListener("toggle", (event) => {
    if (event.newState !== "open") { hovered = false; return; }
    const at = button.getBoundingClientRect(), wide = pop.offsetWidth, high = pop.offsetHeight;
    pop.style.margin = "0";
    pop.style.left = `${Math.max(12, Math.min(at.right - wide, innerWidth - wide - 12))}px`;
    pop.style.top = `${at.bottom + high + 8 < innerHeight ? at.bottom + 6 : Math.max(8, at.top - high - 6)}px`;
  });
  for (const part of [button, pop]) {
    part.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") later(open, part === pop ? 0 : 200); });
    part.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") later(close, 250); });
  }
  button.addEventListener("focus", () => { if (button.matches(":focus-visible")) later(open, 100); });
  button.addEventListener("blur", (event) => { if (!pop.contains(event.relatedTarget)) later(close, 0); });
  button.addEventListener("click", (event) => { if (isOpen() && hovered) { hovered = false; event.preventDefault(); } });  // a click keeps it
}
