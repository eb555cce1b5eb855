#include "evaluate/turn_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/edit_distance.h"
#include "evaluate/method.h"
#include "evaluate/statistics.h"
#include "evaluate/turn_rows.h"
#include "hear/transcripts/scheduled_source.h"
#include "text/words.h"

namespace predgen::evaluate {
namespace {

constexpr uint64_t kBootstrapSeed = 0;

using Values = std::vector<std::optional<double>>;

}  // namespace

Values costs_of(const Rows& rows, const std::string& metric) {
  Values costs = values_of(rows, metric);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto value = [&](const char* name) { return value_of(*rows[i], name).value_or(0); };
    double passes = 0;
    if (metric == "total_nfe") passes = value("draft_model_total_nfe");
    if (metric.starts_with("nfe_")) passes = value("draft_model_nfe_to_first_sentence");
    if (costs[i]) *costs[i] += value("draft_cost") * passes;
  }
  return costs;
}

Json saving(const Rows& baseline, const Rows& method, const std::string& metric, int64_t at_least) {
  Values above = costs_of(baseline, metric), below = costs_of(method, metric);
  for (size_t i = 0; i < baseline.size(); ++i) {
    if (value_of(*baseline[i], "first_sentence_tokens") < at_least) above[i].reset();
  }
  return to_json(ratio_of_means(above, below, kBootstrapSeed));
}

namespace {

constexpr double kAnyRate = 600;  // characters a minute: the words arrive in the same order

}  // namespace

std::string change_between(std::string_view before, std::string_view final_text) {
  const std::vector<std::string> heard = list_bare_words(before),
                                 said = list_bare_words(final_text);
  if (heard == said) return "punctuation";
  if (std::ranges::mismatch(heard, said).in1 == heard.end()) {
    return said.size() == heard.size() + 1 ? "word_added" : "clause_added";
  }
  return edit_distance(heard, said) == 1 ? "word_revised" : "question_changed";
}

std::string last_change(const EvalTurn& turn) {
  const std::vector<Transcript> heard =
      turn.recorded.empty() ? type_text(turn.prompt_text, kAnyRate) : turn.recorded;
  const std::string& final_text = heard.back().text;
  const auto other = std::find_if(heard.rbegin(), heard.rend(), [&](const Transcript& transcript) {
    return transcript.text != final_text;
  });
  return other == heard.rend() ? "none" : change_between(other->text, final_text);
}

const std::vector<std::string>& last_changes() {
  static const std::vector<std::string> names{"none",         "punctuation",  "word_added",
                                              "clause_added", "word_revised", "question_changed"};
  return names;
}

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
