#pragma once

#include <string>
#include <vector>

namespace predgen {

/// At most `most` round numbers (1, 2 or 5 times a power of ten apart) in [low, high]; low < high.
std::vector<double> round_ticks(double low, double high, int most);

/// A number as an axis label: "0.25", "12k", "2e-5".
std::string tick_label(double value);

/// Maps values to positions in a picture.
class Axis {
 public:
  /// `low` maps to `at_low`, `high` > `low` to `at_high`. Logarithmic: both must be above 0.
  Axis(double low, double high, double at_low, double at_high, bool logarithmic = false);

  /// Values outside the range are clamped to the ends.
  double place(double value) const;
  std::vector<double> ticks(int most) const;

 private:
  double low_, high_, at_low_, at_high_;
  bool log_;
};

}  // namespace predgen
