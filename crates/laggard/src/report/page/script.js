// Hovering over a plot names the line under the pointer; clicking a peer keeps it highlighted.
for (const plot of document.querySelectorAll("figure")) {
  const readout = plot.querySelector(".readout");
  for (const line of plot.querySelectorAll("path[data-name]")) {
    line.addEventListener("mouseenter", () => { if (readout) readout.textContent = line.dataset.name; });
    line.addEventListener("mouseleave", () => { if (readout) readout.textContent = ""; });
    line.addEventListener("click", () => line.classList.toggle("median"));
  }
}
document.documentElement.dataset.ready = "yes";
