// Charts of a row for each of a few things. Headings are rows of a label alone.

const kRow = 24, kHeading = 26;

// Fills `canvas` from `top`; `drawRow(row, middle)` draws all but the label. Returns the bottom.
function drawRows(canvas, rows, left, top, isHeading, drawRow) {
  let y = top;
  for (const row of rows) {
    if (isHeading(row)) {
      canvas.text(0, y + 18, cutToWidth(row.label, canvas.width), "start", "strong halo");
      y += kHeading;
      continue;
    }
    canvas.text(left - 8, y + kRow / 2 + 4, cutToWidth(row.label, left - 8), "end", "dark");
    drawRow(row, y + kRow / 2);
    y += kRow;
  }
}

const heightOf = (rows, isHeading) => rows.reduce((sum, row) => sum + (isHeading(row) ? kHeading : kRow), 0);

// The lowest and highest value that a chart of dots must show, with room for the marks.
function rangeOfDots({rows, reference = null, fromZero = true}) {
  const values = [reference, ...rows.flatMap(({value, low, high}) => [value, low, high])].filter(isNumber);
  let low = Math.min(...values), high = Math.max(...values);
  if (fromZero) [low, high] = [Math.min(low, 0), Math.max(high, 1e-9)];
  if (high <= low) high = low + 1;
  const room = 0.03 * (high - low);
  return [fromZero && low === 0 ? 0 : low - room, high + room];
}

// A dot at each row's value, with its interval. {rows: [{label, classes, value, low, high, text, more}], axis,
// reference, fromZero, legend}; `text` stands beside the marks, and `more`, too, if there is room; `reference`: a line
// there.
function drawDotRows(chart, width, label) {
  const canvas = new Canvas(width);
  const isHeading = (row) => !isNumber(row.value);
  const dots = chart.rows.filter((row) => !isHeading(row));
  const room = (key) => Math.max(0, ...dots.map((row) => textWidth(row[key] ?? "")));
  const hasMore = width > 450;  // else the marks need the room
  const textRoom = room("text") + (hasMore ? room("more") + 6 : 0);
  const top = canvas.colours(chart.legend ?? [], 4) + 4;
  const left = labelRoom(dots.map((row) => row.label), width), right = width - textRoom - 12;
  const bottom = top + heightOf(chart.rows, isHeading);
  const x = new Axis(...rangeOfDots(chart), left, right);
  canvas.ticks(x, left, right, top, bottom, chart.axis);
  canvas.line(left, bottom, right, bottom, "axis");
  if (isNumber(chart.reference)) {
    canvas.line(x.place(chart.reference), top - 3, x.place(chart.reference), bottom, "zero");
  }
  drawRows(canvas, chart.rows, left, top, isHeading, (row, middle) => {
    const {classes = "s0", text = "", more = ""} = row;
    if (isNumber(row.low) && isNumber(row.high)) {
      canvas.line(x.place(row.low), middle, x.place(row.high), middle, `${classes} whisker`);
    }
    canvas.dot(x.place(row.value), middle, `${classes} fill`, `${row.label}: ${text} ${more}`.trim());
    canvas.text(right + 8, middle + 4, text, "start", "dark");
    if (hasMore && more) canvas.text(right + 8 + textRoom - room("more"), middle + 4, more);
  });
  return canvas.finish(bottom + 40, label);
}

function tableOfDotRows(chart) {
  const interval = ({low, high}) => isNumber(low) && isNumber(high) ? `${short(low)} – ${short(high)}` : "–";
  const cells = (row) => isNumber(row.value) ? [short(row.value), interval(row)] : ["", ""];
  return {head: ["", chart.axis, "95 % interval"], rows: chart.rows.map((row) => [row.label, ...cells(row)])};
}

const barLength = (row) => row.parts.reduce((sum, part) => sum + Math.max(part, 0), 0);

// Stacked bars. {parts: [[classes, meaning]], rows: [{label, parts, text}], axis, whole, unit}; without `whole` the
// axis ends at the longest bar; `text` stands at the bar's end, and `unit` after a part's value. Negative parts are
// left out.
function drawStackedRows(chart, width, label) {
  const canvas = new Canvas(width), kBar = 17;
  const {parts, rows, whole = 0, unit = ""} = chart;
  const isHeading = (row) => !row.parts;
  const bars = rows.filter((row) => !isHeading(row));
  const textOf = (row) =>
    width < 450 ? row.text.split(",")[0] : row.text;  // where there is little room, its first part
  const top = canvas.legend(parts) + 4;
  const left = labelRoom(bars.map((row) => row.label), width);
  const right = width - Math.max(0, ...bars.map((row) => textWidth(textOf(row)))) - 12;
  const bottom = top + heightOf(rows, isHeading);
  const x = new Axis(0, whole || Math.max(1e-9, ...bars.map(barLength)), left, right);
  canvas.ticks(x, left, right, top, bottom, chart.axis);
  canvas.line(left, top, left, bottom, "axis");
  drawRows(canvas, rows, left, top, isHeading, (row, middle) => {
    let sum = 0;
    row.parts.forEach((part, i) => {
      if (part <= 0) return;
      const [classes, meaning] = parts[i];
      const from = x.place(sum), to = x.place(sum + part), value = `${part.toFixed(0)}${unit}`;
      // A hair is left between parts.
      canvas.rect(
        from, middle - kBar / 2, Math.max(to - from - 1, 0.5), kBar, classes,
        `${row.label}: ${short(part)}${unit} ${meaning}`);
      if (to - from > textWidth(value) + 4) {
        canvas.text((from + to) / 2, middle + 4, value, "middle", classes.endsWith("fill") ? "inverse" : "dark");
      }
      sum += part;
    });
    canvas.text((whole ? right : x.place(barLength(row))) + 7, middle + 4, textOf(row), "start", "dark");
  });
  return canvas.finish(bottom + 40, label);
}

function tableOfStackedRows({parts, rows, unit = ""}) {
  return {
    head: ["", ...parts.map(([, meaning]) => meaning), ""],
    rows: rows.map(
      (row) => [row.label, ...parts.map((_, i) => row.parts ? `${short(row.parts[i])}${unit}` : ""), row.text ?? ""])
  };
}
