#include "evaluate/page/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace predgen::evaluate {
namespace {

constexpr std::array kOfThePaper{"baseline", "greedy", "top3", "reflection", "cllm"};

}  // namespace

const Json& at_path(const Json& object, std::initializer_list<std::string> path) {
  static const Json null;
  const Json* found = &object;
  for (const std::string& key : path) {
    if (!found->is_object()) return null;
    const auto next = found->find(key);
    if (next == found->end()) return null;
    found = &*next;
  }
  return *found;
}

std::optional<double> number_at(const Json& object, std::initializer_list<std::string> path) {
  const Json& value = at_path(object, path);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string text_at(const Json& object, std::initializer_list<std::string> path) {
  const Json& value = at_path(object, path);
  return value.is_string() ? value.get<std::string>() : std::string();
}

RunView::RunView(const Json& report, const Json& run)
    : report_(report), run_(run), price_(text_at(run, {"price", "name"})) {
  const std::string folder = text_at(run, {"model"});
  model_ = std::filesystem::path(folder).filename().string();
  if (model_.empty()) model_ = folder;
  for (const auto& [name, method] : at_path(run, {"methods"}).items()) methods_.push_back(name);
  for (const Json& row : at_path(report, {"turns"})) {
    if (text_at(row, {"model"}) == folder && text_at(row, {"price"}) == price_) {
      rows_[text_at(row, {"method"})].push_back(&row);
    }
  }
}

std::vector<std::string> RunView::shown(size_t most) const {
  std::vector<std::string> chosen;
  const auto take = [&](const std::string& name) {
    const bool is_there = std::ranges::find(methods_, name) != methods_.end();
    const bool is_new = std::ranges::find(chosen, name) == chosen.end();
    if (is_there && is_new && chosen.size() < most) chosen.push_back(name);
  };
  for (const char* name : kOfThePaper) take(name);
  for (const std::string& name : methods_) take(name);
  std::ranges::sort(chosen, {}, [&](const std::string& name) {
    return std::ranges::find(methods_, name) - methods_.begin();
  });
  return chosen;
}

std::string RunView::colour(const std::string& method) const {
  if (is_baseline(method)) return "base";
  int64_t place = 0;
  for (const std::string& name : shown()) {
    if (name == method) break;
    place += is_baseline(name) ? 0 : 1;
  }
  return fmt::format("s{}", std::min<int64_t>(place, 5));
}

const Json& RunView::method(const std::string& name) const {
  return at_path(run_, {"methods", name});
}

const Json& RunView::comparison(const std::string& name) const {
  return at_path(run_, {"comparisons", name});
}

const std::vector<const Json*>& RunView::rows(const std::string& method) const {
  static const std::vector<const Json*> none;
  const auto found = rows_.find(method);
  return found == rows_.end() ? none : found->second;
}

std::vector<std::optional<double>> RunView::values(const std::string& method,
                                                   const char* key) const {
  std::vector<std::optional<double>> values;
  for (const Json* row : rows(method)) values.push_back(number_at(*row, {key}));
  return values;
}

std::optional<Estimate> RunView::ms_sooner(const std::string& name) const {
  const Json& sooner = at_path(method(name), {"sooner"});
  const auto value = number_at(sooner, {"seconds"});
  if (!value || is_baseline(name)) return std::nullopt;
  return Estimate{.value = 1e3 * *value,
                  .low = 1e3 * number_at(sooner, {"low"}).value_or(*value),
                  .high = 1e3 * number_at(sooner, {"high"}).value_or(*value)};
}

bool RunView::is_baseline(const std::string& method) const {
  return method == "baseline" || method.starts_with("baseline+");
}

std::optional<bool> RunView::keeps_texts(const std::string& method) const {
  if (is_baseline(method)) return true;
  const auto changed = number_at(comparison(method), {"changed_text", "share"});
  return changed ? std::optional(*changed == 0) : std::nullopt;
}

std::optional<Estimate> mean_of(const std::vector<std::optional<double>>& values) {
  return ratio_of_means(values, std::vector<std::optional<double>>(values.size(), 1.0), 0);
}

std::string times(const std::optional<double>& ratio, int digits) {
  if (ratio && *ratio > kMostRatio) return fmt::format("> {}×", kMostRatio);
  return ratio ? fixed(ratio, digits) + "×" : "–";
}

std::string fixed(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

}  // namespace predgen::evaluate
