#include "evaluate/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "evaluate/quality.h"
#include "evaluate/repetition.h"
#include "evaluate/statistics.h"

namespace predgen {
namespace {

constexpr int64_t kLongSentence = 8;  // tokens; comparisons are repeated on such turns
constexpr uint64_t kBootstrapSeed = 0;

using Values = std::vector<std::optional<double>>;
using RowOf = std::vector<const EvalRow*>;  // by turn

std::optional<double> at_least_one(const std::optional<int64_t>& count) {
  if (!count) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(1, *count));
}

std::optional<double> as_double(const std::optional<int64_t>& count) {
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

struct Metric {
  const char* name;
  std::function<std::optional<double>(const EvalRow&)> value;
};

// The list of metrics: every one becomes a summary by method and a field of each row.
const std::vector<Metric>& metrics() {
  using Row = const EvalRow&;
  static const std::vector<Metric> list{
      {"ttfs", [](Row row) { return row.result.metrics.ttfs; }},
      {"ttfs_paper", [](Row row) { return row.result.metrics.ttfs_paper; }},
      {"audio_latency", [](Row row) { return row.result.metrics.audio_latency; }},
      {"lead_time", [](Row row) { return row.result.metrics.lead_time; }},
      {"nfe_to_first_sentence",
       [](Row row) { return as_double(row.result.metrics.nfe_to_first_sentence); }},
      {"nfe_paper", [](Row row) { return at_least_one(row.result.metrics.nfe_to_first_sentence); }},
      {"first_sentence_kept",
       [](Row row) -> std::optional<double> {
         if (!row.result.metrics.nfe_to_first_sentence) return std::nullopt;
         return row.result.metrics.first_sentence_kept ? 1.0 : 0.0;
       }},
      {"speculative_nfe", [](Row row) { return as_double(row.result.metrics.speculative_nfe); }},
      {"total_nfe", [](Row row) { return as_double(row.result.metrics.total_nfe); }},
      {"draft_model_nfe_to_first_sentence",
       [](Row row) { return as_double(row.result.metrics.draft_model_nfe_to_first_sentence); }},
      {"draft_model_speculative_nfe",
       [](Row row) { return as_double(row.result.metrics.draft_model_speculative_nfe); }},
      {"draft_model_total_nfe",
       [](Row row) { return as_double(row.result.metrics.draft_model_total_nfe); }},
      {"spec_tokens_drafted",
       [](Row row) { return as_double(row.result.metrics.spec_tokens_drafted); }},
      {"spec_tokens_accepted",
       [](Row row) { return as_double(row.result.metrics.spec_tokens_accepted); }},
      {"spec_tokens_wasted",
       [](Row row) { return as_double(row.result.metrics.spec_tokens_wasted); }},
      {"first_sentence_tokens",
       [](Row row) { return as_double(row.result.first_sentence_tokens); }},
      {"answer_tokens",
       [](Row row) { return std::optional(static_cast<double>(row.result.answer.size())); }},
      {"dropped_rounds", [](Row row) { return as_double(row.result.dropped_rounds); }},
      {"repetition", [](Row row) { return std::optional(repetition(row.result.text)); }},
      {"first_sentence_logprob", [](Row row) { return row.first_sentence_logprob; }},
      {"joules", [](Row row) { return row.joules; }},
      {"draft_price",
       [](Row row) { return row.draft_price > 0 ? std::optional(row.draft_price) : std::nullopt; }},
      {"values_to_repeat", [](Row row) { return as_double(row.repeated_values.num_values); }},
      {"values_repeated", [](Row row) { return as_double(row.repeated_values.num_repeated); }},
  };
  return list;
}

const Metric& metric(const std::string& name) {
  for (const Metric& candidate : metrics()) {
    if (name == candidate.name) return candidate;
  }
  throw Error("no metric {}", name);
}

Json to_json(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json to_json(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", to_json(std::optional(ratio->value))},
          {"low", to_json(std::optional(ratio->low))},
          {"high", to_json(std::optional(ratio->high))},
          {"n", ratio->n}};
}

Json to_json(const Summary& summary) {
  return {{"mean", to_json(summary.mean)},
          {"p50", to_json(summary.p50)},
          {"p90", to_json(summary.p90)},
          {"p99", to_json(summary.p99)},
          {"n", summary.n},
          {"nulls", summary.num_null}};
}

Values values_of(const RowOf& rows, const std::string& name) {
  Values values;
  for (const EvalRow* row : rows) values.push_back(metric(name).value(*row));
  return values;
}

/// What is compared: passes of a draft model count by their price among those of the model.
Values costs_of(const RowOf& rows, const std::string& name) {
  Values costs = values_of(rows, name);
  for (size_t i = 0; i < rows.size(); ++i) {
    const TurnMetrics& metrics = rows[i]->result.metrics;
    int64_t passes = 0;
    if (name == "total_nfe") passes = metrics.draft_model_total_nfe;
    if (name.starts_with("nfe_")) passes = metrics.draft_model_nfe_to_first_sentence;
    if (costs[i]) *costs[i] += rows[i]->draft_price * static_cast<double>(passes);
  }
  return costs;
}

double sum(const RowOf& rows, const std::string& name) {
  double total = 0;
  for (const std::optional<double>& cost : costs_of(rows, name)) total += cost.value_or(0);
  return total;
}

std::optional<double> divided(double numerator, double denominator) {
  if (denominator == 0) return std::nullopt;
  return numerator / denominator;
}

// baseline / method: how many times less the method needs.
Json saving(const RowOf& baseline, const RowOf& method, const std::string& name, int64_t at_least) {
  Values above = costs_of(baseline, name), below = costs_of(method, name);
  for (size_t i = 0; i < baseline.size(); ++i) {
    if (baseline[i]->result.first_sentence_tokens < at_least) above[i].reset();
  }
  return to_json(ratio_of_means(above, below, kBootstrapSeed));
}

Json compare_texts(const RowOf& reference, const RowOf& method, const std::string& reference_name) {
  int64_t equal = 0;
  Json different = Json::array(), flips = Json::array();
  for (size_t i = 0; i < method.size(); ++i) {
    if (reference[i]->result.text == method[i]->result.text) {
      ++equal;
    } else {
      different.push_back(method[i]->turn_index);
      if (const std::optional<Flip>& flip = method[i]->flip) {
        flips.push_back({{"turn", method[i]->turn_index},
                         {"token", flip->token},
                         {"margin", to_json(std::optional(flip->margin))}});
      }
    }
  }
  return {{"against", reference_name},
          {"count", equal},
          {"n", static_cast<int64_t>(method.size())},
          {"different_turns", different},
          {"flips", flips}};
}

// Nats per token of first sentences, over the turns where both have one.
Json compare_logprobs(const RowOf& greedy, const RowOf& method) {
  double sums[2] = {0, 0}, tokens[2] = {0, 0};
  for (size_t i = 0; i < method.size(); ++i) {
    if (!greedy[i]->first_sentence_logprob || !method[i]->first_sentence_logprob) continue;
    for (const int side : {0, 1}) {
      const EvalRow& row = side == 0 ? *greedy[i] : *method[i];
      sums[side] += *row.first_sentence_logprob;
      tokens[side] += static_cast<double>(row.result.first_sentence_tokens);
    }
  }
  if (tokens[0] == 0 || tokens[1] == 0) return nullptr;
  return {{"greedy", sums[0] / tokens[0]},
          {"this", sums[1] / tokens[1]},
          {"loss", sums[0] / tokens[0] - sums[1] / tokens[1]}};
}

Json summarize_method(const RowOf& rows) {
  Json summary;
  for (const Metric& candidate : metrics()) {
    summary[candidate.name] = to_json(summarize(values_of(rows, candidate.name)));
  }
  std::set<std::string> sentences;
  for (const EvalRow* row : rows) sentences.insert(row->result.first_sentence);
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

Json compare_methods(const std::map<std::string, RowOf>& rows_of,
                     const std::vector<std::string>& names) {
  Json comparisons = Json::object();
  for (const std::string& name : names) {
    const RowOf& rows = rows_of.at(name);
    Json entry;
    if (const auto baseline = rows_of.find("baseline");
        baseline != rows_of.end() && name != "baseline") {
      entry["nfe_saving"] = saving(baseline->second, rows, "nfe_to_first_sentence", 0);
      entry["nfe_saving_paper"] = saving(baseline->second, rows, "nfe_paper", 0);
      entry["nfe_saving_long"] =
          saving(baseline->second, rows, "nfe_to_first_sentence", kLongSentence);
      entry["nfe_saving_paper_long"] = saving(baseline->second, rows, "nfe_paper", kLongSentence);
      entry["ttfs_saving"] = saving(baseline->second, rows, "ttfs", 0);
      entry["changed_text"] = describe_changed_texts(baseline->second, rows);
      entry["audio_latency_saving"] = saving(baseline->second, rows, "audio_latency", 0);
    }
    const std::string plain = plain_method(parse_method(name));
    if (const auto reference = rows_of.find(plain); reference != rows_of.end() && name != plain) {
      entry["equal_text"] = compare_texts(reference->second, rows, plain);
      if (parse_method(name).work == InputTimeWork::kCascade) {
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

Json row_to_json(const EvalRow& row, const EvalTurn& turn) {
  Json json{{"turn", row.turn_index},        {"id", turn.id},
            {"method", row.method},          {"prompt", turn.prompt_text},
            {"text", row.result.text},       {"first_sentence", row.result.first_sentence},
            {"token_ids", row.result.answer}};
  for (const Metric& candidate : metrics()) json[candidate.name] = to_json(candidate.value(row));
  json["first_sentence_kept"] = row.result.metrics.first_sentence_kept;
  add_quality(row, turn, json);
  return json;
}

/// Null if no turn is left.
Json summarize_turns(const ReportInput& input, const std::function<bool(size_t)>& takes_part) {
  std::map<std::string, RowOf> rows_of;
  for (const EvalRow& row : input.run.rows) {
    if (takes_part(row.turn_index)) rows_of[row.method].push_back(&row);
  }
  if (rows_of.empty()) return nullptr;
  Json summaries;
  for (const std::string& name : input.methods) {
    const RowOf& rows = rows_of.at(name);
    Json summary = summarize_method(rows);
    if (const auto baseline = rows_of.find("baseline"); baseline != rows_of.end()) {
      const auto speedup = ratio_of_means(values_of(baseline->second, "audio_latency"),
                                          values_of(rows, "audio_latency"), 0);
      summary["speedup"] = speedup ? to_json(std::optional(speedup->value)) : Json(nullptr);
    }
    summary["accuracy"] = describe_accuracy(rows, input.turns);
    summary["task"] = describe_task_answers(rows, input.turns);
    summary["judge"] = describe_judged(rows);
    summaries["methods"][name] = summary;
  }
  summaries["comparisons"] = compare_methods(rows_of, input.methods);
  return summaries;
}

bool is_seen(PromptSet::Overlap overlap) { return overlap != PromptSet::Overlap::kNone; }

}  // namespace

Json make_report(const ReportInput& input) {
  const auto& overlap = input.training_overlap;
  Json report = summarize_turns(input, [](size_t) { return true; });
  report["training_overlap"] = count_training_overlap(overlap);
  report["unseen"] = nullptr;
  if (std::ranges::any_of(overlap, is_seen)) {
    report["unseen"] = summarize_turns(input, [&](size_t i) { return !is_seen(overlap.at(i)); });
  }
  report["num_turns"] = input.turns.turns.size();
  report["skipped"] = input.turns.skipped;
  report["failed"] = Json::array();
  for (const FailedTurn& failed : input.run.failed) {
    report["failed"].push_back({{"turn", failed.turn_index},
                                {"id", input.turns.turns.at(failed.turn_index).id},
                                {"method", failed.method},
                                {"error", failed.error}});
  }
  report["config"] = input.resolved_config;
  report["environment"] = input.environment;
  report["turns"] = Json::array();
  for (const EvalRow& row : input.run.rows) {
    Json& json =
        report["turns"].emplace_back(row_to_json(row, input.turns.turns.at(row.turn_index)));
    if (!overlap.empty()) json["in_training_data"] = overlap_name(overlap.at(row.turn_index));
  }
  return report;
}

void write_report(const Json& report, const std::filesystem::path& folder) {
  make_folder(folder);
  // Ill-formed bytes cannot come from a tokenizer's text, but a report must not fail over one.
  const auto replace = Json::error_handler_t::replace;
  write_file(folder / "turns.csv", format_csv(report));
  write_file(folder / "report.html", format_html(report));
  write_file(folder / "results.json", report.dump(1, ' ', false, replace) + "\n");
}

}  // namespace predgen
