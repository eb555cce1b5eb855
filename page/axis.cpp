#include "page/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace predgen {

std::vector<double> round_ticks(double low, double high, int most) {
  const double smallest = (high - low) / most;
  const double power = std::pow(10.0, std::floor(std::log10(smallest)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= smallest * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::string tick_label(double value) {
  const double size = std::abs(value);
  if (size < 1e-12) return "0";
  if (size >= 1e6) return fmt::format("{:.6g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.6g}k", value / 1e3);
  if (size >= 1e-4) return fmt::format("{:.6g}", value);
  const double exponent = std::floor(std::log10(size) + 1e-9);
  return fmt::format("{:.3g}e{:.0f}", value / std::pow(10.0, exponent), exponent);
}

Axis::Axis(double low, double high, double at_low, double at_high, bool logarithmic)
    : low_(logarithmic ? std::log10(low) : low),
      high_(logarithmic ? std::log10(high) : high),
      at_low_(at_low),
      at_high_(at_high),
      log_(logarithmic) {}

double Axis::place(double value) const {
  const double share = ((log_ ? std::log10(value) : value) - low_) / (high_ - low_);
  return at_low_ + std::clamp(share, 0.0, 1.0) * (at_high_ - at_low_);
}

std::vector<double> Axis::ticks(int most) const {
  if (!log_) return round_ticks(low_, high_, most);
  std::vector<double> ticks;
  for (double power = std::ceil(low_ - 1e-9); power <= high_ + 1e-9; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const bool fits = power + std::log10(factor) <= high_ + 1e-9;
      // Also numbers between powers of ten if there are few of those.
      if (fits && (factor == 1.0 || high_ - low_ <= 2)) {
        ticks.push_back(factor * std::pow(10.0, power));
      }
    }
  }
  return ticks;
}

}  // namespace predgen
