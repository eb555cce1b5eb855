#include "evaluate/figure_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "core/config.h"
#include "core/error.h"
#include "evaluate/statistics.h"

namespace predgen::evaluate {

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

namespace {

std::string name_of(const std::string& paper, const std::filesystem::path& file) {
  if (paper == "mt_bench") return "MT-Bench";
  if (paper == "gsm8k") return "GSM8K";
  if (paper == "mmlu_pro") return "MMLU-Pro";
  if (paper == "lmsys") return "Lmsys";
  if (file.empty()) return "An evaluation";
  const std::string folder = file.parent_path().filename().string();
  return (folder.empty() ? "" : folder + "/") + file.filename().string();
}

}  // namespace

Json describe_set(const std::string& config) {
  std::string kind, file, paper;
  try {
    ConfigReader reader = ConfigReader::parse(config, "config");
    ConfigReader turns = reader.section("turns");
    turns.optional("kind", kind);
    turns.optional("file", file);
  } catch (const UserError&) {  // results that were edited: the page says what it can
    kind = file = "";
  }
  if (kind == "mt_bench" || kind == "gsm8k" || kind == "mmlu_pro") {
    paper = kind;
  } else if (file.find("lmsys") != std::string::npos) {
    paper = "lmsys";
  }
  return {{"kind", kind}, {"file", file}, {"paper", paper}, {"name", name_of(paper, file)}};
}

namespace {

using RowList = std::vector<const Json*>;
using MethodRows = std::map<std::string, RowList>;
using Values = std::vector<std::optional<double>>;
using ValueOf = std::function<std::optional<double>(const Json& row)>;

constexpr int64_t kMostRounds = 4;  // later ones are merged

/// How many passes a turn took: the last bin is open.
struct PassBin {
  double most;
  const char* name;
};
constexpr std::array kPassBins{PassBin{1, "1 pass"}, PassBin{4, "2–4"}, PassBin{16, "5–16"},
                               PassBin{1e300, "over 16"}};

/// Turns with `low` <= value < `high`.
struct ValueGroup {
  double low, high;
  std::string name;
};

Values numbers(const RowList& rows, const char* key) {
  Values found;
  for (const Json* row : rows) found.push_back(number_at(*row, {key}));
  return found;
}

Json mean_estimate(const Values& found) {
  return to_json(ratio_of_means(found, Values(found.size(), 1.0), 0), "value");
}

Json intervals(const RowList& rows) {
  const Values wanted = numbers(rows, "values_to_repeat");
  const bool repeats =
      std::ranges::any_of(wanted, [](const auto& number) { return number.value_or(0) > 0; });
  return {{"audio_latency", mean_estimate(numbers(rows, "audio_latency"))},
          {"judge_grade", mean_estimate(numbers(rows, "judge_grade"))},
          {"share_of_values_repeated",
           repeats ? to_json(ratio_of_means(numbers(rows, "values_repeated"), wanted, 0), "value")
                   : Json()}};
}

Json latency_parts(const RowList& rows) {
  double waiting = 0, first_pass = 0, sentence = 0, speech = 0, n = 0;
  for (const Json* row : rows) {
    const auto ttfs = number_at(*row, {"ttfs"}), paper = number_at(*row, {"ttfs_paper"}),
               ttft = number_at(*row, {"ttft"}), sound = number_at(*row, {"audio_latency"});
    if (!ttfs || !paper || !ttft || !sound) continue;
    waiting += *ttfs - *paper;
    first_pass += *ttft - (*ttfs - *paper);
    sentence += *ttfs - *ttft;
    speech += *sound - *ttfs;
    ++n;
  }
  if (n == 0) return nullptr;
  return {{"pass_under_way", waiting / n},
          {"first_pass", first_pass / n},
          {"rest_of_sentence", sentence / n},
          {"speech", speech / n},
          {"n", static_cast<int64_t>(n)}};
}

int64_t merged_round(double round) { return std::min(static_cast<int64_t>(round), kMostRounds); }

Json pass_shares(const RowList& rows, int64_t round) {
  std::array<double, kPassBins.size()> counts{};
  double n = 0, sum = 0;
  for (const Json* row : rows) {
    const auto passes = number_at(*row, {"nfe_paper"}), of = number_at(*row, {"round"});
    if (!passes || !of || merged_round(*of) != round) continue;
    const auto* bin =
        std::ranges::find_if(kPassBins, [&](const PassBin& one) { return *passes <= one.most; });
    ++counts.at(static_cast<size_t>(bin - kPassBins.begin()));
    sum += *passes;
    ++n;
  }
  if (n == 0) return nullptr;
  Json shares;
  for (size_t i = 0; i < counts.size(); ++i) shares[kPassBins.at(i).name] = counts.at(i) / n;
  return {{"passes", shares}, {"mean", sum / n}, {"n", static_cast<int64_t>(n)}};
}

Json rounds_of(const MethodRows& rows_of) {
  std::set<int64_t> rounds;
  for (const auto& [name, rows] : rows_of) {
    for (const auto& round : numbers(rows, "round")) {
      if (round) rounds.insert(merged_round(*round));
    }
  }
  Json list = Json::array();
  for (const int64_t round : rounds) {
    Json methods = Json::object();
    for (const auto& [name, rows] : rows_of) methods[name] = pass_shares(rows, round);
    list.push_back({{"round", fmt::format("{}{}", round, round == kMostRounds ? " and later" : "")},
                    {"methods", methods}});
  }
  return list;
}

/// Groups without a turn of the first method are left out.
Json ttfs_by(const MethodRows& rows_of, const RowList& first, const std::vector<ValueGroup>& groups,
             const ValueOf& value_of) {
  Json list = Json::array();
  for (const ValueGroup& group : groups) {
    const auto is_inside = [&](const Json* row) {
      const auto value = value_of(*row);
      return value && *value >= group.low && *value < group.high;
    };
    const auto n = std::ranges::count_if(first, is_inside);
    if (n == 0) continue;
    Json methods = Json::object();
    for (const auto& [name, rows] : rows_of) {
      RowList inside;
      std::ranges::copy_if(rows, std::back_inserter(inside), is_inside);
      methods[name] = mean_estimate(numbers(inside, "ttfs"));
    }
    list.push_back({{"group", group.name}, {"n", n}, {"methods", methods}});
  }
  return list;
}

std::optional<double> num_words(const Json& row) {
  std::istringstream stream(text_at(row, {"prompt"}));
  double count = 0;
  for (std::string word; stream >> word;) ++count;
  return count;
}

std::vector<ValueGroup> word_groups(const RowList& rows) {
  constexpr size_t kGroups = 4, kFewestTurns = 8;
  std::vector<double> words;
  for (const Json* row : rows) words.push_back(*num_words(*row));
  std::ranges::sort(words);
  if (words.size() < kFewestTurns || words.front() == words.back()) return {};
  std::vector<ValueGroup> groups;
  for (size_t begin = 0; begin < words.size();) {
    size_t end = std::min((groups.size() + 1) * words.size() / kGroups, words.size());
    end = std::max(end, begin + 1);
    while (end < words.size() && words[end] == words[end - 1]) ++end;
    const double low = words[begin], high = words[end - 1];
    groups.push_back(
        {low, high + 0.5,
         low == high ? fmt::format("{:.0f}", low) : fmt::format("{:.0f}–{:.0f}", low, high)});
    begin = end;
  }
  return groups;
}

const std::vector<ValueGroup>& revision_groups() {
  static const std::vector<ValueGroup> groups{{0, 1e-9, "none"},
                                              {1e-9, 0.1, "to 10 %"},
                                              {0.1, 0.2, "10–20 %"},
                                              {0.2, 0.4, "20–40 %"},
                                              {0.4, 2, "more"}};
  return groups;
}

}  // namespace

void add_figure_values(Json& run, const std::vector<const Json*>& rows) {
  MethodRows rows_of;
  for (const Json* row : rows) rows_of[text_at(*row, {"method"})].push_back(row);
  RowList first;
  const auto methods = run.find("methods");
  if (methods != run.end() && methods->is_object()) {
    if (!methods->empty()) first = rows_of[methods->begin().key()];
    for (auto& [name, method] : methods->items()) {
      method["intervals"] = intervals(rows_of[name]);
      method["latency_parts"] = latency_parts(rows_of[name]);
    }
  }
  run["rounds"] = rounds_of(rows_of);
  const ValueOf revised = [](const Json& row) { return number_at(row, {"revised_share"}); };
  const bool is_recorded =
      std::ranges::any_of(rows, [&](const Json* row) { return revised(*row).has_value(); });
  run["ttfs_by"] = {{"words", ttfs_by(rows_of, first, word_groups(first), num_words)},
                    {"revised_share",
                     is_recorded ? ttfs_by(rows_of, first, revision_groups(), revised) : Json()}};
}

bool is_of_run(const Json& row, const Json& run) {
  return text_at(row, {"model"}) == text_at(run, {"model"}) &&
         text_at(row, {"cost"}) == text_at(run, {"cost", "name"});
}

void accept_old_names(Json& report) {
  if (!report.is_structured()) return;
  for (Json& child : report) accept_old_names(child);
  for (const auto& [old, name] :
       {std::pair("price", "cost"), std::pair("draft_price", "draft_cost")}) {
    if (!report.is_object() || !report.contains(old) || report.contains(name)) continue;
    Json value = report.at(old);
    report.erase(old);
    report[name] = std::move(value);
  }
}

void complete_report(Json& report) {
  accept_old_names(report);
  report["set"] = describe_set(text_at(report, {"config"}));
  for (Json& run : report["runs"]) {
    std::vector<const Json*> rows;
    for (const Json& row : at_path(report, {"turns"})) {
      if (is_of_run(row, run)) rows.push_back(&row);
    }
    add_figure_values(run, rows);
  }
}

}  // namespace predgen::evaluate
