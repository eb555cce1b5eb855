// {xAxis, yAxis: what it is, with the unit; lines, categories, xTicks, xFromZero, yFromZero, xEnd, mayBeLog, marks,
// legend}
//   lines: [{classes, isJoined, hasDots, hasBand, points, name}]; a band goes from low to high, which all points have;
//     `name` stands at the last point
//   points: [{x, y, low, high, label, title}]; `label` stands beside the point, if there is room; `title`: tooltip
//   categories: [[name, more]] below x = 0, 1, ..; none: x are numbers, at `xTicks` or round ones
//   xEnd: of an axis from 0; none: there is room behind the last point
//   mayBeLog: the values' axis is logarithmic if they differ by more than a factor of 30
//   marks: [{x, classes, title}], triangles at the bottom
//   legend: [[classes of a colour, what it means]]

const kPlotHeight = 210, kLogFrom = 30;

// Widened so that marks are not at the edge.
function padded([low, high], fromZero) {
  if (fromZero) low = Math.min(low, 0);
  if (high <= low) high = low + Math.max(1e-9, Math.abs(low));
  const room = 0.06 * (high - low);
  return [fromZero && low === 0 ? 0 : low - room, high + room];
}

function xRange({xEnd, categories = [], lines, xFromZero = true}) {
  if (isNumber(xEnd)) return [0, xEnd];
  if (categories.length) return [-0.5, categories.length - 0.5];
  const values = lines.flatMap((line) => line.points.map((point) => point.x));
  return padded([Math.min(...values), Math.max(...values)], xFromZero);
}

function yAxisOf({lines, mayBeLog = false, yFromZero = true}, bottom, top) {
  const points = lines.flatMap((line) => line.points);
  const low = Math.min(...points.map((point) => point.low ?? point.y));
  const high = Math.max(...points.map((point) => point.high ?? point.y));
  if (mayBeLog && low > 0 && high > kLogFrom * low) {
    return new Axis(10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high)), bottom, top, true);
  }
  return new Axis(...padded([low, high], yFromZero), bottom, top);
}

// Where the values stand, in pixels from the left, in a picture so wide.
function plotEdges(plot, width) {
  const names = Math.max(0, ...plot.lines.map((line) => textWidth(line.name ?? "")));
  return [46, width - 10 - (names > 0 ? Math.min(names, 0.4 * width) + 10 : 0)];
}

function drawPlotAxes(canvas, plot, x, y, [left, right, top, bottom]) {
  const categories = plot.categories ?? [];
  if (plot.yAxis) canvas.text(0, top - 10, plot.yAxis);
  for (const tick of y.ticks(6)) {
    canvas.line(left, y.place(tick), right, y.place(tick), "grid");
    canvas.text(left - 6, y.place(tick) + 4, tickLabel(tick), "end");
  }
  canvas.line(left, bottom, right, bottom, "axis");
  const room = (right - left) / Math.max(categories.length, 1);
  categories.forEach(([name, more], i) => {
    canvas.text(x.place(i), bottom + 16, cutToWidth(name, room), "middle", "dark");
    canvas.text(x.place(i), bottom + 31, cutToWidth(more, room), "middle");
  });
  for (const tick of categories.length ? [] : plot.xTicks ?? x.ticks(6)) {
    canvas.line(x.place(tick), bottom, x.place(tick), bottom + 4, "axis");
    canvas.text(x.place(tick), bottom + 17, tickLabel(tick), "middle");
  }
  canvas.text((left + right) / 2, bottom + (categories.length ? 49 : 35), plot.xAxis, "middle");
}

function drawPlotLine(canvas, {classes = "s0", points, isJoined = true, hasDots = true, hasBand = false}, x, y) {
  const path = (places) =>
    places.map(([px, py], i) => `${i ? "L" : "M"}${x.place(px).toFixed(1)} ${y.place(py).toFixed(1)}`).join("");
  if (hasBand) {
    const there = points.map((point) => [point.x, point.high]),
          back = points.map((point) => [point.x, point.low]).reverse();
    canvas.path(`${path([...there, ...back])}Z`, `${classes} band`);
  }
  if (isJoined && points.length > 1) canvas.path(path(points.map((point) => [point.x, point.y])), `${classes} line`);
  for (const point of points) {
    const at = x.place(point.x);
    if (!hasBand && isNumber(point.low) && isNumber(point.high)) {
      canvas.line(at, y.place(point.low), at, y.place(point.high), `${classes} whisker thin`);
    }
    if (hasDots) canvas.dot(at, y.place(point.y), `${classes} fill`, point.title);
  }
}

// There is a point.
function drawLinePlot(plot, width, label) {
  const canvas = new Canvas(width), {lines, legend = [], marks = []} = plot;
  const top = canvas.colours(legend, 0) + 24;
  const [left, right] = plotEdges(plot, width), bottom = top + kPlotHeight;
  const x = new Axis(...xRange(plot), left, right), y = yAxisOf(plot, bottom, top);
  drawPlotAxes(canvas, plot, x, y, [left, right, top, bottom]);
  const places = new LabelPlaces(left + 2, top - 8, width, bottom);
  for (const line of lines) {
    for (const point of line.points) places.keepFree(x.place(point.x), y.place(point.y), 5);
  }
  for (const line of lines) drawPlotLine(canvas, line, x, y);
  for (const mark of marks) {
    canvas.path(
      `M${x.place(mark.x).toFixed(1)} ${(bottom - 8).toFixed(1)}l-4.5 8h9z`, `${mark.classes} fill`, mark.title);
  }
  for (const {points, name, isJoined = true} of lines) {
    for (const point of points) {
      if (point.label) places.draw(canvas, x.place(point.x), y.place(point.y), point.label, isJoined);
    }
    const last = points.at(-1);
    if (name && last) places.draw(canvas, x.place(last.x), y.place(last.y), name);
  }
  return canvas.finish(bottom + (plot.categories?.length ? 56 : 42), label);
}

function tableOfLinePlot({lines, categories = [], xAxis, yAxis = "value", legend = []}) {
  const hasInterval = lines.some((line) => line.points.some((point) => isNumber(point.low)));
  const nameOf = (line, i) => line.name ?? (line.isJoined === false ? line.points[0]?.label : legend[i]?.[1]) ?? "";
  const cells = (line, i) => line.points.map((point) => [
    nameOf(line, i), categories[Math.round(point.x)]?.[0] ?? short(point.x, 6), short(point.y),
    ...hasInterval ? [isNumber(point.low) ? `${short(point.low)} – ${short(point.high)}` : "–"] : []]);
  return {head: ["", xAxis, yAxis, ...hasInterval ? ["from – to"] : []], rows: lines.flatMap(cells)};
}
