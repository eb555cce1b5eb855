#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/statistics.h"

namespace predgen::evaluate {

/// Null where a key of the path is missing.
const Json& at_path(const Json& object, std::initializer_list<std::string> path);
/// The number there, else nullopt.
std::optional<double> number_at(const Json& object, std::initializer_list<std::string> path);
/// The string there, else empty.
std::string text_at(const Json& object, std::initializer_list<std::string> path);

/// One of a report's runs, and its rows. Borrows the report, which is a results.json.
class RunView {
 public:
  RunView(const Json& report, const Json& run);

  const Json& report() const { return report_; }
  const Json& run() const { return run_; }
  /// The name of the model's folder, without its parents, and of the price.
  const std::string& model() const { return model_; }
  const std::string& price() const { return price_; }

  const std::vector<std::string>& methods() const { return methods_; }
  /// The few methods shown in pictures with a line per method: the paper's before others, in the
  /// order of methods().
  std::vector<std::string> shown(size_t most = 6) const;
  /// "base" for the baseline, "s0" .. for the others of shown().
  std::string colour(const std::string& method) const;

  const Json& method(const std::string& name) const;
  const Json& comparison(const std::string& name) const;
  /// In the order of the set; empty for an unknown method.
  const std::vector<const Json*>& rows(const std::string& method) const;
  /// Values of the method's rows where the row has a number.
  std::vector<std::optional<double>> values(const std::string& method, const char* key) const;

  /// By how many ms the method's first sound comes before its baseline's, the mean of the turns;
  /// nullopt: nothing to compare.
  std::optional<Estimate> ms_sooner(const std::string& method) const;

  bool is_baseline(const std::string& method) const;
  /// Whether all texts are the baseline's; nullopt: it was not in the run.
  std::optional<bool> keeps_texts(const std::string& method) const;

 private:
  const Json& report_;
  const Json& run_;
  std::string model_, price_;
  std::vector<std::string> methods_;
  std::map<std::string, std::vector<const Json*>> rows_;
};

/// With the 95 % interval; nullopt without values.
std::optional<Estimate> mean_of(const std::vector<std::optional<double>>& values);

/// "1.73×", and above kMostRatio "> 20×": the ratio to nearly nothing says nothing.
std::string times(const std::optional<double>& ratio, int digits);
inline constexpr double kMostRatio = 20;

/// "1.73" for a missing value "–".
std::string fixed(const std::optional<double>& value, int digits);

}  // namespace predgen::evaluate
