#include "evaluate/timelines.h"

#include <algorithm>
#include <map>

#include "evaluate/method.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {
namespace {

/// The method whose saving chooses the turns.
std::string drafting_method(const std::vector<std::string>& methods) {
  const auto found = std::ranges::find_if(methods, [](const std::string& name) {
    return parse_method(name).work == InputTimeWork::kSpeculate;
  });
  return found == methods.end() ? methods.back() : *found;
}

/// Turns sorted by saving, the least first.
std::vector<std::pair<double, int64_t>> savings(const Json& rows, const std::string& method) {
  const std::string baseline = baseline_method(parse_method(method));
  std::map<int64_t, std::map<std::string, double>> ttfs;
  for (const Json& row : rows) {
    if (const auto value = value_of(row, "ttfs"); value && row.contains("trace")) {
      ttfs[row.at("turn")][row.at("method")] = *value;
    }
  }
  std::vector<std::pair<double, int64_t>> found;
  for (const auto& [turn, of] : ttfs) {
    const auto own = of.find(method), other = of.find(baseline);
    if (own == of.end()) continue;
    found.emplace_back((other == of.end() ? 0 : other->second) - own->second, turn);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

Json take_timelines(Json& rows, const std::vector<std::string>& methods) {
  const std::string method = drafting_method(methods);
  const auto turns = savings(rows, method);
  std::map<int64_t, const char*> why;
  if (!turns.empty()) {
    why.emplace(turns[turns.size() / 2].second, "typical");
    why.emplace(turns.back().second, "best");
    why.emplace(turns.front().second, "worst");
  }
  Json taken = Json::array();
  for (Json& row : rows) {
    if (!row.contains("trace")) continue;
    if (const auto chosen = why.find(row.at("turn")); chosen != why.end()) {
      taken.push_back({{"turn", row["turn"]},
                       {"id", row["id"]},
                       {"method", row["method"]},
                       {"why", chosen->second},
                       {"against", method},
                       {"events", std::move(row["trace"])}});
    }
    row.erase("trace");
  }
  return taken;
}

}  // namespace predgen::evaluate
