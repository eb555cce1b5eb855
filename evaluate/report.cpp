#include "evaluate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "evaluate/figure_values.h"
#include "evaluate/method_table.h"
#include "evaluate/page/report_page.h"
#include "evaluate/quality.h"
#include "evaluate/statistics.h"
#include "evaluate/turn_groups.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {
namespace {

constexpr int64_t kLongSentence = 8;  // tokens; comparisons are repeated on such turns

double sum(const Rows& rows, const std::string& name) {
  double total = 0;
  for (const std::optional<double>& cost : costs_of(rows, name)) total += cost.value_or(0);
  return total;
}

std::optional<double> divided(double numerator, double denominator) {
  if (denominator == 0) return std::nullopt;
  return numerator / denominator;
}

Json compare_texts(const Rows& reference, const Rows& method, const std::string& reference_name) {
  int64_t equal = 0;
  Json different = Json::array(), flips = Json::array();
  for (size_t i = 0; i < method.size(); ++i) {
    const Json& row = *method[i];
    if (reference[i]->at("text") == row.at("text")) {
      ++equal;
    } else {
      different.push_back(row.at("turn"));
      if (row.at("flip_token").is_null()) continue;
      flips.push_back({{"turn", row.at("turn")},
                       {"token", row.at("flip_token")},
                       {"margin", row.at("flip_margin")}});
    }
  }
  return {{"against", reference_name},
          {"count", equal},
          {"n", static_cast<int64_t>(method.size())},
          {"different_turns", different},
          {"flips", flips}};
}

// Nats per token of first sentences, over the turns where both have one.
Json compare_logprobs(const Rows& greedy, const Rows& method) {
  double sums[2] = {0, 0}, tokens[2] = {0, 0};
  for (size_t i = 0; i < method.size(); ++i) {
    const auto logprob = [&](const Json& row) { return value_of(row, "first_sentence_logprob"); };
    if (!logprob(*greedy[i]) || !logprob(*method[i])) continue;
    for (const int side : {0, 1}) {
      const Json& row = side == 0 ? *greedy[i] : *method[i];
      sums[side] += *logprob(row);
      tokens[side] += value_of(row, "first_sentence_tokens").value_or(0);
    }
  }
  if (tokens[0] == 0 || tokens[1] == 0) return nullptr;
  return {{"greedy", sums[0] / tokens[0]},
          {"this", sums[1] / tokens[1]},
          {"loss", sums[0] / tokens[0] - sums[1] / tokens[1]}};
}

Json summarize_method(const Rows& rows) {
  Json summary;
  for (const std::string& name : metric_names()) {
    summary[name] = to_json(summarize(values_of(rows, name)));
  }
  std::set<std::string> sentences;
  for (const Json* row : rows) sentences.insert(row->at("first_sentence"));
  sentences.erase("");
  summary["kept_whole"] = to_json(summarize(values_of(rows, "first_sentence_kept")).mean);
  summary["distinct_first_sentences"] = sentences.size();
  summary["tokens_per_pass"] = to_json(divided(sum(rows, "answer_tokens"), sum(rows, "total_nfe")));
  summary["first_sentence_logprob_per_token"] =
      to_json(divided(sum(rows, "first_sentence_logprob"), sum(rows, "first_sentence_tokens")));
  summary["share_of_values_repeated"] =
      to_json(divided(sum(rows, "values_repeated"), sum(rows, "values_to_repeat")));
  return summary;
}

Json compare_methods(const std::map<std::string, Rows>& rows_of,
                     const std::vector<std::string>& names) {
  Json comparisons = Json::object();
  for (const std::string& name : names) {
    const Rows& rows = rows_of.at(name);
    Json entry;
    const Method method = parse_method(name);
    if (const auto baseline = rows_of.find(baseline_method(method));
        baseline != rows_of.end() && name != baseline->first) {
      entry["nfe_saving"] = saving(baseline->second, rows, "nfe_to_first_sentence", 0);
      entry["nfe_saving_paper"] = saving(baseline->second, rows, "nfe_paper", 0);
      entry["nfe_saving_long"] =
          saving(baseline->second, rows, "nfe_to_first_sentence", kLongSentence);
      entry["nfe_saving_paper_long"] = saving(baseline->second, rows, "nfe_paper", kLongSentence);
      entry["ttfs_saving"] = saving(baseline->second, rows, "ttfs", 0);
      entry["changed_text"] = describe_changed_texts(baseline->second, rows);
      entry["audio_latency_saving"] = saving(baseline->second, rows, "audio_latency", 0);
    }
    const std::string plain = plain_method(method);
    if (const auto reference = rows_of.find(plain); reference != rows_of.end() && name != plain) {
      entry["equal_text"] = compare_texts(reference->second, rows, plain);
      if (method.work == InputTimeWork::kCascade) {
        entry["pass_saving"] = saving(reference->second, rows, "total_nfe", 0);
      }
    }
    if (const auto greedy = rows_of.find("greedy"); greedy != rows_of.end() && name != "greedy") {
      entry["first_sentence_logprob_per_token"] = compare_logprobs(greedy->second, rows);
    }
    if (!entry.is_null()) comparisons[name] = entry;
  }
  return comparisons;
}

/// Means by method and what methods save, over the run's included turns; null if none is
/// left.
Json summarize_turns(const ReportInput& input, const ReportRun& run,
                     const std::function<bool(size_t turn)>& takes_part) {
  std::map<std::string, Rows> rows_of;
  for (const Json& row : run.rows) {
    if (takes_part(row.at("turn"))) rows_of[row.at("method")].push_back(&row);
  }
  if (rows_of.empty()) return nullptr;
  Json summary{{"methods", Json::object()}};
  for (const std::string& name : input.methods) {
    const Rows& rows = rows_of.at(name);
    Json method = summarize_method(rows);
    const auto baseline = rows_of.find(baseline_method(parse_method(name)));
    if (baseline != rows_of.end()) {
      const auto speedup = ratio_of_means(values_of(baseline->second, "audio_latency"),
                                          values_of(rows, "audio_latency"), 0);
      method["sooner"] = to_json(mean_difference(values_of(rows, "audio_latency"),
                                                 values_of(baseline->second, "audio_latency"), 0),
                                 "seconds");
      method["speedup"] = speedup ? to_json(std::optional(speedup->value)) : Json(nullptr);
    }
    const Method parts = parse_method(name);
    method["baseline"] = baseline_method(parts);
    method["top_k"] = parts.verifier.name == "topk" ? Json(parts.verifier.top_k) : Json();
    method["accuracy"] = describe_accuracy(rows, input.turns);
    method["task"] = describe_task_answers(rows, input.turns);
    method["judge"] = nullptr;  // scripts/judge.py has it
    summary["methods"][name] = method;
  }
  summary["comparisons"] = compare_methods(rows_of, input.methods);
  return summary;
}

/// What the set says of its turns: by these a judge knows what was asked.
Json describe_questions(const TurnSet& set) {
  Json turns = Json::array();
  for (const EvalTurn& turn : set.turns) {
    Json history = Json::array();
    if (!turn.right_answer) {  // else it is worked examples
      for (const Message& message : turn.history) {
        history.push_back({{"role", message.role}, {"content", message.content}});
      }
    }
    turns.push_back({{"id", turn.id}, {"history", history}, {"continues", turn.continues}});
  }
  return turns;
}

bool is_seen(data::PromptSet::Overlap overlap) {
  return overlap != data::PromptSet::Overlap::kNone;
}

Json summarize_run(const ReportInput& input, const ReportRun& run) {
  const auto& overlap = input.training_overlap;
  Json summary = summarize_turns(input, run, [](size_t) { return true; });
  summary["model"] = run.model;
  summary["cost"] = run.cost;
  summary["groups"] = group_turns(run.rows, input.methods);
  Rows rows;
  for (const Json& row : run.rows) rows.push_back(&row);
  add_figure_values(summary, rows);
  summary["unseen"] = nullptr;
  if (std::ranges::any_of(overlap, is_seen)) {
    summary["unseen"] =
        summarize_turns(input, run, [&](size_t turn) { return !is_seen(overlap.at(turn)); });
  }
  return summary;
}

}  // namespace

Json make_report(const ReportInput& input) {
  const auto& overlap = input.training_overlap;
  Json report{{"runs", Json::array()}};
  Json rows = Json::array(), failed = Json::array();
  const auto take = [](Json& all, const Json& some, const ReportRun& run) {
    for (const Json& one : some) {
      Json& row = all.emplace_back(one);
      row["model"] = run.model;
      row["cost"] = run.cost.at("name");
    }
  };
  for (const ReportRun& run : input.runs) {
    report["runs"].push_back(summarize_run(input, run));
    Json of_run = run.rows;
    report["runs"].back()["timelines"] = take_timelines(of_run, input.methods);
    take(rows, of_run, run);
    take(failed, run.failed, run);
  }
  for (Json& row : rows) {
    if (!overlap.empty()) row["in_training_data"] = overlap_name(overlap.at(row.at("turn")));
  }
  for (const char* key : {"methods", "comparisons", "unseen"}) {
    report[key] = report["runs"].at(0).at(key);
  }
  report["training_overlap"] = count_training_overlap(overlap);
  report["heard"] = describe_heard(input.turns);
  report["num_turns"] = input.turns.turns.size();
  report["questions"] = describe_questions(input.turns);
  report["skipped"] = input.turns.skipped;
  report["failed"] = std::move(failed);
  report["config"] = input.resolved_config;
  report["set"] = describe_set(input.resolved_config);
  report["environment"] = input.environment;
  report["turns"] = std::move(rows);
  return report;
}

void write_report(const Json& report, const std::filesystem::path& folder) {
  make_folder(folder);
  write_file(folder / "turns.csv", format_csv(report));
  write_file(folder / "report.html", format_report_page(report));
  write_file(folder / "results.json", to_text(report, 1) + "\n");
}

namespace {

std::string quote_csv(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  std::string quoted(1, '"');
  for (const char c : value.get<std::string>()) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return quoted;
}

/// Which texts of a method that verifies exactly differ, and how close the choice was.
std::string flips_line(const std::string& name, const Json& equal) {
  const Json& flips = at_path(equal, {"flips"});
  if (flips.is_null() || flips.empty()) return "";
  std::string line = fmt::format(
      "{}: {} of {} texts differ from those of {}; there the two likeliest logits of plain "
      "decoding are "
      "apart by",
      name, flips.size(), equal["n"].dump(), equal["against"].get<std::string>());
  for (const Json& flip : flips) {
    const auto margin = number_at(flip, {"margin"});
    line += fmt::format(" {} (turn {}, token {})", margin ? fmt::format("{:.4f}", *margin) : "–",
                        flip["turn"].dump(), flip["token"].dump());
  }
  return line + '\n';
}

/// Of a run, or of its unseen turns.
std::string methods_text(const Json& run) {
  const TextTable table = method_table(run);
  size_t width = 16;
  for (const auto& row : table.rows) width = std::max(width, row.front().size());
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += fmt::format("{:<{}}", cells.front(), width);
    for (size_t i = 1; i < cells.size(); ++i) text += fmt::format(" {:>11}", cells[i]);
    text += '\n';
  };
  line(table.head);
  for (const auto& row : table.rows) line(row);
  return text;
}

/// Empty for a set without categories.
std::string categories_text(const Json& run) {
  const TextTable table = category_table(run);
  if (table.rows.empty()) return "";
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += fmt::format("\n{:<20} {:>5}", cells[0], cells[1]);
    for (size_t i = 2; i < cells.size(); ++i) text += fmt::format(" {:>11}", cells[i]);
  };
  line(table.head);
  for (const auto& row : table.rows) line(row);
  return text + '\n';
}

/// Empty without training data.
std::string overlap_line(const Json& report) {
  const Json& seen = at_path(report, {"training_overlap"});
  if (seen.is_null()) return "";
  return fmt::format(
      "\n{} of {} turns stand in the training data word for word, {} but for case and "
      "punctuation.\n",
      seen["exact"].dump(), report["num_turns"].dump(), seen["normalised"].dump());
}

std::string run_table(const Json& run) {
  std::string table = run_title(run) + '\n' + methods_text(run) + categories_text(run);
  for (const auto& [name, method] : run["methods"].items()) {
    table += flips_line(name, at_path(run, {"comparisons", name, "equal_text"}));
  }
  const Json& unseen = at_path(run, {"unseen"});
  if (!unseen.is_null()) table += "\nTurns that the training data lacks:\n" + methods_text(unseen);
  return table;
}

}  // namespace

std::string format_table(const Json& report) {
  std::string tables;
  for (const Json& run : report["runs"]) {
    tables += (tables.empty() ? "" : "\n") + run_table(run);
  }
  const std::string heard = heard_line(report);
  if (!heard.empty()) tables += "\n" + heard + "\n";
  return tables + overlap_line(report);
}

std::string format_csv(const Json& report) {
  std::string csv;
  const auto line = [&](const Json& row, bool names) {
    std::string text;
    for (const auto& [key, value] : row.items()) {
      if (key == "token_ids") continue;
      if (!text.empty()) text += ',';
      text += quote_csv(names ? Json(key) : value);
    }
    csv += text;
    csv += "\r\n";
  };
  for (const Json& row : report["turns"]) {
    if (csv.empty()) line(row, true);
    line(row, false);
  }
  return csv;
}

}  // namespace predgen::evaluate
