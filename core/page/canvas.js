// At most `most` round numbers (1, 2 or 5 times a power of ten apart) in [low, high]; low < high.
function roundTicks(low, high, most) {
  const smallest = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(smallest));
  const factor = [1, 2, 5].find((one) => one * power >= smallest * (1 - 1e-9)) ?? 10;
  const step = factor * power, ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push(i * step);
  return ticks;
}

// A number as an axis has it: "0.25", "12k", "2e-5".
function tickLabel(value) {
  const size = Math.abs(value);
  if (size < 1e-12) return "0";
  if (size >= 1e6) return `${short(value / 1e6, 6)}M`;
  if (size >= 1e4) return `${short(value / 1e3, 6)}k`;
  if (size >= 1e-4) return short(value, 6);
  const exponent = Math.floor(Math.log10(size) + 1e-9);
  return `${short(value / 10 ** exponent, 3)}e${exponent}`;
}

// Maps values to positions in a picture: `low` to `atLow`, `high` > `low` to `atHigh`; others are clamped to the ends.
class Axis {
  constructor(low, high, atLow, atHigh, isLogarithmic = false) {
    [this.low, this.high] = isLogarithmic ? [Math.log10(low), Math.log10(high)] : [low, high];
    Object.assign(this, {atLow, atHigh, isLogarithmic});
  }

  place(value) {
    const share = ((this.isLogarithmic ? Math.log10(value) : value) - this.low) / (this.high - this.low);
    return this.atLow + Math.min(Math.max(share, 0), 1) * (this.atHigh - this.atLow);
  }

  ticks(most) {
    if (!this.isLogarithmic) return roundTicks(this.low, this.high, most);
    const factors = this.high - this.low <= 2 ? [1, 2, 5] : [1];  // numbers between powers of ten where these are few
    const ticks = [];
    for (let power = Math.ceil(this.low - 1e-9); power <= this.high + 1e-9; ++power) {
      ticks.push(...factors.filter((factor) => power + Math.log10(factor) <= this.high + 1e-9)
                   .map((factor) => factor * 10 ** power));
    }
    return ticks;
  }
}

const kSvg = "http://www.w3.org/2000/svg";
const kColumn = 6.9;  // pixels of a character, roughly

// XML has no control characters, so that a picture with one would be no file.
const withoutControls = (text) => text.replace(/[\x00-\x1f]/g, " ");

// East Asian characters and pictures are wide.
const columnsOf = (character) => character.codePointAt(0) >= 0x3000 ? 1.8 : 1;

// In the 12-pixel font of pictures, roughly: the same on every machine.
const textWidth = (text) => kColumn * [...text].reduce((sum, character) => sum + columnsOf(character), 0);

// The longest beginning of about this width, with "…" if it was cut.
function cutToWidth(text, width) {
  if (textWidth(text) <= width) return text;
  let room = width / kColumn - 1, cut = "";
  for (const character of text) {
    room -= columnsOf(character);
    if (room < 0) break;
    cut += character;
  }
  return `${cut}…`;
}

// Width for labels on the left: the widest, but at most a good third of the picture.
const labelRoom = (labels, width) => Math.min(Math.max(0, ...labels.map(textWidth)), 0.36 * width) + 10;

function svgElement(name, attributes, text = "") {
  const node = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

// A picture that is being drawn. Its colours are classes of the page's style.
class Canvas {
  constructor(width) {
    this.width = width;
    this.svg = svgElement("svg", {});
  }

  // `title`: the tooltip, also for screen readers; empty: none.
  add(name, attributes, title = "") {
    const rounded = Object.entries(attributes).map(([key, value]) => [key, isNumber(value) ? short(value, 6) : value]);
    const node = svgElement(name, Object.fromEntries(rounded));
    if (title) node.append(svgElement("title", {}, withoutControls(title)));
    this.svg.append(node);
    return node;
  }

  // `anchor`: start, middle or end of the text is at x; y is its base line.
  text(x, y, text, anchor = "start", classes = "") {
    this.add("text", {x, y, "text-anchor": anchor, class: classes}).textContent = withoutControls(text);
  }

  line(x1, y1, x2, y2, classes) {
    this.path(`M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`, classes);
  }

  rect(x, y, width, height, classes, title) {
    this.add("rect", {x, y, width, height, class: classes}, title);
  }

  dot(x, y, classes, title) {
    this.add("circle", {cx: x, cy: y, r: 4.5, class: classes}, title);
  }

  path(d, classes, title) {
    this.add("path", {d, class: classes}, title);
  }

  // In as many lines as needed, at the top; returns the y below them. Entries: [classes of a colour, what it means].
  legend(entries) {
    let at = 0, base = 11;
    for (const [classes, meaning] of entries) {
      const width = 32 + textWidth(meaning);
      if (at > 0 && at + width > this.width) {
        at = 0;
        base += 18;
      }
      this.rect(at, base - 9, 12, 10, classes);
      this.text(at + 17, base, meaning);
      at += width;
    }
    return base + 13;
  }

  // The same for what is drawn in plain colours; `otherwise`: the y if there is no entry.
  colours(entries, otherwise) {
    if (!entries.length) return otherwise;
    return this.legend(entries.map(([classes, meaning]) => [`${classes} fill`, meaning]));
  }

  // Numbers of a horizontal axis, its grid, and what the values are.
  ticks(axis, left, right, top, bottom, name) {
    for (const tick of axis.ticks(right - left < 300 ? 4 : 8)) {
      this.line(axis.place(tick), top, axis.place(tick), bottom, "grid");
      this.text(axis.place(tick), bottom + 15, tickLabel(tick), "middle");
    }
    const fits = textWidth(name) < right - left;
    this.text(fits ? (left + right) / 2 : this.width / 2, bottom + 33, name, "middle");
  }

  // The <svg>; `label` says what it shows.
  finish(height, label) {
    this.svg.setAttribute("viewBox", `0 0 ${Math.round(this.width)} ${Math.round(height)}`);
    this.svg.setAttribute("role", "img");
    this.svg.setAttribute("aria-label", withoutControls(label));
    return this.svg;
  }
}

// Places labels beside points, where they cover neither a point nor each other, inside of a box.
class LabelPlaces {
  constructor(left, top, right, bottom) {
    this.inside = {left, top, right, bottom};
    this.taken = [];
  }

  keepFree(x, y, radius) {
    this.taken.push({left: x - radius, top: y - radius, right: x + radius, bottom: y + radius});
  }

  isFree(box) {
    const {left, top, right, bottom} = this.inside;
    if (box.left < left || box.right > right || box.top < top || box.bottom > bottom) return false;
    return !this.taken.some(
      (other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom);
  }

  // On the right of the point, or above it, if there is room, else around it; left out if there is none.
  draw(canvas, x, y, label, isAbove = false) {
    const eighths =
      isAbove ? [6, 2, 7, 1, 5, 3, 0, 4] : [0, 4, 7, 1, 6, 2, 5, 3];  // of a circle, clockwise from the right
    const letters = 11, width = textWidth(label);
    for (const away of [9, 20, 32]) {
      for (const eighth of eighths) {
        const dx = away * Math.cos(eighth * Math.PI / 4), dy = away * Math.sin(eighth * Math.PI / 4);
        const anchor = dx < -1 ? "end" : dx <= 1 ? "middle" : "start";
        const left = x + dx - {end: width, middle: width / 2, start: 0}[anchor];
        const box = {left, top: y + dy - letters / 2, right: left + width, bottom: y + dy + letters / 2};
        if (!this.isFree(box)) continue;
        this.taken.push(box);
        if (away > 10) canvas.line(x, y, x + 0.9 * dx, y + 0.9 * dy, "axis");
        canvas.text(x + dx, y + dy + 4, label, anchor, "dark halo");
        return;
      }
    }
  }
}
