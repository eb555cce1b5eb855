#include "evaluate/turn_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "evaluate/last_change.h"
#include "evaluate/method.h"
#include "evaluate/savings.h"
#include "evaluate/statistics.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {
namespace {

/// Rows of a group's turns, by method.
using MethodRows = std::map<std::string, Rows>;

/// The group of a row; empty: none.
using GroupOf = std::function<std::string(const Json& row)>;

struct LengthBand {
  int64_t most;  // words
  const char* name;
};
constexpr LengthBand kBands[]{{5, "1-5"}, {10, "6-10"}, {20, "11-20"}};
constexpr const char* kLongest = "more";

Json mean_of_costs(const Rows& rows, const std::string& metric) {
  return to_json(summarize(costs_of(rows, metric)).mean);
}

Json summarize_group(const Rows& rows, const Rows* baseline) {
  Json summary{{"n", rows.size()}, {"saving", nullptr}};
  for (const char* metric :
       {"nfe_to_first_sentence", "nfe_paper", "wait_from_last_word", "ready_before_end",
        "first_sentence_kept", "spec_tokens_drafted", "spec_tokens_wasted", "joules", "right_call",
        "wait_for_result", "tool_hidden", "call_known", "call_foreseen"}) {
    summary[metric] = mean_of_costs(rows, metric);
  }
  if (baseline) summary["saving"] = saving(*baseline, rows, "nfe_paper", 0);
  return summary;
}

Json summarize_methods(const MethodRows& rows_of, const std::vector<std::string>& methods) {
  Json summaries = Json::object();
  for (const std::string& name : methods) {
    const std::string baseline_name = baseline_method(parse_method(name));
    const auto baseline = rows_of.find(baseline_name);
    const bool is_compared = baseline != rows_of.end() && name != baseline_name;
    summaries[name] = summarize_group(rows_of.at(name), is_compared ? &baseline->second : nullptr);
  }
  return summaries;
}

/// `order`: names of groups that come first, in this order.
Json group_by(const Json& rows, const std::vector<std::string>& methods, const GroupOf& group_of,
              std::vector<std::string> order) {
  std::map<std::string, MethodRows> groups;
  for (const Json& row : rows) {
    if (const std::string group = group_of(row); !group.empty()) {
      groups[group][row.at("method")].push_back(&row);
    }
  }
  for (const auto& [group, rows_of] : groups) {
    if (std::ranges::find(order, group) == order.end()) order.push_back(group);
  }
  Json list = Json::array();
  for (const std::string& group : order) {
    const auto found = groups.find(group);
    if (found == groups.end()) continue;
    list.push_back({{"group", group},
                    {"n", found->second.begin()->second.size()},
                    {"methods", summarize_methods(found->second, methods)}});
  }
  return list;
}

std::string text_of(const Json& row, const char* key) {
  const Json& text = row.at(key);
  return text.is_null() ? std::string() : text.get<std::string>();
}

}  // namespace

std::string length_band(int64_t num_words) {
  for (const LengthBand& band : kBands) {
    if (num_words <= band.most) return band.name;
  }
  return kLongest;
}

Json group_turns(const Json& rows, const std::vector<std::string>& methods) {
  std::vector<std::string> bands;
  for (const LengthBand& band : kBands) bands.emplace_back(band.name);
  bands.emplace_back(kLongest);
  return {{"last_change",
           group_by(
               rows, methods, [](const Json& row) { return text_of(row, "last_change"); },
               last_changes())},
          {"source",
           group_by(rows, methods, [](const Json& row) { return text_of(row, "source"); }, {})},
          {"length",
           group_by(
               rows, methods, [](const Json& row) { return length_band(row.at("prompt_words")); },
               std::move(bands))},
          {"tools", group_by(rows, methods,
                             [](const Json& row) { return text_of(row, "tool_group"); }, {})}};
}

}  // namespace predgen::evaluate
