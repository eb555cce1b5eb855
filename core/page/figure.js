// A figure: {name, title, note, isWide, missing, draw(width), table(), onDrawn(svg, holder)}
//   name: of its file, once on a page; title: with the unit; note: how to read it, and what it omits
//   missing: why there is no picture
//   table: {head, rows} of what is drawn, for who would rather read it

const kHalfWidth = 600, kWholeWidth = 1240, kNarrowWidth = 340;
const kNarrowScreen = matchMedia("(max-width: 640px)");

// The part of the style that a picture needs outside of the page, without variables, which few converters know.
const kFileStyle = `
text{fill:#475467;font:12px "DejaVu Sans",Arial,sans-serif}
.strong{fill:#1d2330;font-weight:600}.dark{fill:#1d2330}.inverse{fill:#fff}
.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
.base{color:#667085}.s0{color:#0072b2}.s1{color:#d55e00}.s2{color:#009e73}
.s3{color:#b0568f}.s4{color:#b8860b}.s5{color:#56b4e9}
.outlier{color:#d98200}.infinite{color:#c62828}
.fill{fill:currentColor}.half{fill:currentColor;fill-opacity:.5}.pale{fill:currentColor;fill-opacity:.22}
.grid{stroke:#e3e6ec}.axis{stroke:#98a2b3}.zero{stroke:#475467;stroke-dasharray:3 3}
.whisker{stroke:currentColor;stroke-width:2}.whisker.thin{stroke-width:1.4;opacity:.5}
.line{fill:none;stroke:currentColor;stroke-width:1.8}.band{fill:currentColor;opacity:.16}
`;

const widthOf = (figure) => figure.isWide ? kWholeWidth : kHalfWidth;

// A picture as a file of its own, on white.
function svgFile(figure) {
  const margin = 14, svg = figure.draw(widthOf(figure));
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const size = {width: width + 2 * margin, height: height + 2 * margin};
  for (const [key, value] of Object.entries(size)) svg.setAttribute(key, value);
  svg.setAttribute("viewBox", `${-margin} ${-margin} ${size.width} ${size.height}`);
  svg.prepend(
    svgElement("style", {}, kFileStyle), svgElement("rect", {x: -margin, y: -margin, ...size, fill: "#fff"}));
  return new XMLSerializer().serializeToString(svg);
}

function save(name, text) {
  const link = element("a", {download: name, href: URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}))});
  link.click();
  URL.revokeObjectURL(link.href);
}

function figureElement(figure) {
  if (figure.missing) return element("p", {class: "missing"}, element("b", {}, figure.title), ` ${figure.missing}`);
  const button = element("button", {type: "button", "aria-label": `Save as SVG: ${figure.title}`}, "save as SVG");
  button.addEventListener("click", () => save(`${figure.name}.svg`, svgFile(figure)));
  const holder = element("div", {class: "picture"});
  const draw = () => {
    const svg = figure.draw(kNarrowScreen.matches ? kNarrowWidth : widthOf(figure));
    holder.replaceChildren(svg);
    figure.onDrawn?.(svg, holder);
  };
  draw();
  kNarrowScreen.addEventListener("change", draw);
  const values = folded("the values");
  values.addEventListener("toggle", () => {
    if (!values.open || values.children.length > 1) return;
    const {head, rows} = figure.table();
    values.append(scrolled(makeTable(figure.title, head, rows), "scroll tall"));
  });
  return element("figure", {id: figure.name, class: figure.isWide ? "whole" : null},
    element("figcaption", {}, element("span", {}, figure.title), button), holder,
    figure.note ? element("p", {class: "note"}, figure.note) : null, values);
}

const rowFigure = (figure, chart) =>
  ({...figure, draw: (width) => drawDotRows(chart, width, figure.title), table: () => tableOfDotRows(chart)});
const stackFigure = (figure, chart) =>
  ({...figure, draw: (width) => drawStackedRows(chart, width, figure.title), table: () => tableOfStackedRows(chart)});
const plotFigure = (figure, plot) =>
  ({...figure, draw: (width) => drawLinePlot(plot, width, figure.title), table: () => tableOfLinePlot(plot)});
