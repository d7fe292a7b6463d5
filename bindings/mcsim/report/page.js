"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Colours of the dark page, by those of the light one; what is not here serves both.
  const night = {
    "#1f2328": "#e6edf3", "#d8dee4": "#30363d", "#ffffff": "#0d1117", "#59636e": "#9ea7b3",
    "#005f99": "#3d9be0", "#a63200": "#e0703d", "#6b5900": "#b39b2e", "#000000": "#ffffff",
    "#8a4a1c": "#c9772e", "#3c97d9": "#7cc4f5", "#666666": "#8f979f", "#8a8a8a": "#c3c9d0",
  };
  const shade = (color) => (dark.matches && night[color.toLowerCase()]) || color;

  // A plot's JSON with the colours of the page: those of properties, never what users named.
  const shaded = (node, isColor) => {
    if (typeof node === "string") return isColor ? shade(node) : node;
    if (Array.isArray(node)) return node.map((each) => shaded(each, isColor));
    if (node === null || typeof node !== "object") return node;
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [
      key, shaded(value, key.endsWith("_color") || (isColor && key === "value")),
    ]));
  };

  const shadeSwatches = () => {
    for (const part of document.querySelectorAll(".ink")) {
      for (const kind of ["fill", "stroke"]) {
        if (part.hasAttribute(kind)) part.setAttribute(kind, shade(part.dataset.ink));
      }
    }
  };

  const draw = async (figure) => {
    const plot = figure.querySelector(".plot");
    const item = shaded(JSON.parse(figure.querySelector("script").textContent), false);
    plot.replaceChildren();
    figure.dataset.drawn = "no";
    const views = await Bokeh.embed.embed_item(item, plot);
    figure.view = [...views.roots][0];
    figure.model = figure.view.model;
    if (matchMedia("(pointer: coarse)").matches) {
      // A finger that moves over a plot moves the page.
      for (const tool of figure.model.toolbar.tools) if (tool.overlay) tool.active = false;
    }
    for (const button of figure.querySelectorAll(".legend button")) show(figure, button);
    figure.dataset.drawn = "yes";
  };

  const show = (figure, button) => {
    for (const part of figure.model.renderers) {
      if (part.tags[0] === button.dataset.series) {
        part.visible = button.getAttribute("aria-pressed") === "true";
      }
    }
  };

  // Zooms by a factor, or moves by a share of what is seen; both where the axis is logarithmic, too.
  const view = (figure, factor, shift) => {
    const model = figure.model;
    const range = model.x_range;
    if (!model) return;
    const log = model.x_scale.type === "LogScale";
    const [to, from] = log ? [Math.log, Math.exp] : [(x) => x, (x) => x];
    const [a, b] = [to(range.start), to(range.end)];
    const [middle, half] = [(a + b) / 2 + shift * (b - a), (b - a) / 2 * factor];
    range.setv({ start: from(middle - half), end: from(middle + half) });
  };
  const whole = (figure) => figure.view.reset_range();

  const actions = {
    "+": (figure) => view(figure, 0.5, 0), "-": (figure) => view(figure, 2, 0),
    ArrowLeft: (figure) => view(figure, 1, -0.25), ArrowRight: (figure) => view(figure, 1, 0.25),
    0: whole, Escape: whole,
  };
  const buttons = { in: actions["+"], out: actions["-"], all: whole };

  for (const figure of document.querySelectorAll("figure.chart")) {
    figure.querySelector(".plot").addEventListener("keydown", (event) => {
      const action = actions[event.key];
      if (!action || !figure.model || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action(figure);
    });
    figure.querySelector(".tools").addEventListener("click", (event) => {
      const action = buttons[event.target.dataset.zoom];
      if (action && figure.model) action(figure);
    });
    figure.querySelector(".legend").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button || !figure.model) return;
      button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true");
      show(figure, button);
    });
  }

  // A plot is drawn when the reader comes near it.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "800px" });
  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(unzipped).text();
    library.replaceWith(script);
    Bokeh.set_log_level("warn");
    for (const figure of document.querySelectorAll("figure.chart")) near.observe(figure);
  };
  const library = document.getElementById("library");
  if (library) unpack(library.textContent).catch(() => { document.getElementById("undrawn").hidden = false; });
  shadeSwatches();
  dark.addEventListener("change", () => {
    shadeSwatches();
    for (const figure of document.querySelectorAll("figure.chart[data-drawn=yes]")) draw(figure);
  });

  const order = new Intl.Collator("en", { numeric: true });
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.v ?? cell.textContent.replaceAll(",", "");
    return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
  };
  // Numbers before words, such as a dash where there is none.
  const compare = (a, b) =>
    typeof a !== typeof b ? (typeof a === "number" ? -1 : 1)
      : typeof a === "number" ? a - b : order.compare(a, b);
  for (const table of document.querySelectorAll("table.sorts")) {
    table.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th");
      if (!head) return;
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => [key(row, head.cellIndex), row]);
      rows.sort(([a], [b]) => (typeof a !== typeof b ? compare(a, b) : (down ? -1 : 1) * compare(a, b)));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  }

  window.addEventListener("beforeprint", () => {
    const folded = "details.section, figure.chart:not([data-drawn=yes]) details";
    for (const details of document.querySelectorAll(folded)) details.open = true;
  });
})();
