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
