#include "evaluate/turn_rows.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/text.h"
#include "evaluate/method.h"
#include "evaluate/quality.h"
#include "evaluate/statistics.h"
#include "evaluate/tool_turns.h"
#include "evaluate/turn_groups.h"
#include "text/words.h"

namespace predgen::evaluate {
namespace {

double num_characters(const std::string& text) {
  return static_cast<double>(count_characters(text));
}

}  // namespace

std::optional<double> heard_share(const TurnResult& result) {
  const double all = num_characters(result.prompt_text);
  if (!result.metrics.first_sentence_kept || result.first_sentence.empty() || all == 0) {
    return std::nullopt;
  }
  double heard = 0;
  std::optional<double> since;
  for (const TurnEvent& event : result.events) {
    if (event.kind == TurnEvent::Kind::kTranscript) heard = num_characters(event.text);
    if (event.kind != TurnEvent::Kind::kDraft) continue;
    if (!trimmed(event.text).starts_with(trimmed(result.first_sentence))) {
      since.reset();
    } else if (!since) {
      since = heard;
    }
  }
  if (!since) return std::nullopt;
  return std::min(1.0, *since / all);
}

int64_t round_of(const std::vector<EvalTurn>& turns, size_t index) {
  int64_t round = 1;
  while (turns.at(index).continues && index > 0) {
    --index;
    ++round;
  }
  if (turns[index].right_answer) return round;
  return round + std::ranges::count(turns[index].history, "user", &Message::role);
}

std::optional<double> revised_share(const std::vector<Transcript>& recorded) {
  if (recorded.empty()) return std::nullopt;
  std::vector<std::string> heard;
  double given_out = 0, taken_back = 0;
  for (const Transcript& transcript : recorded) {
    std::vector<std::string> words = list_words(transcript.text);
    const auto first_change = std::ranges::mismatch(heard, words);
    taken_back += static_cast<double>(heard.end() - first_change.in1);
    given_out += static_cast<double>(words.end() - first_change.in2);
    heard = std::move(words);
  }
  return given_out > 0 ? taken_back / given_out : 0;
}

namespace {

/// Share of a text's word 4-grams that occurred earlier in it; 0 for short texts.
double repetition(const std::string& text) {
  const std::vector<std::string> words = list_words(text);
  if (words.size() < 4) return 0;
  std::set<std::string> seen;
  for (size_t i = 0; i + 4 <= words.size(); ++i) {
    seen.insert(words[i] + ' ' + words[i + 1] + ' ' + words[i + 2] + ' ' + words[i + 3]);
  }
  return 1.0 - static_cast<double>(seen.size()) / static_cast<double>(words.size() - 3);
}

constexpr double kSlowTool = 1;      // seconds
constexpr size_t kTracedTurns = 20;  // a report shows a few of them

std::optional<double> at_least_one(const std::optional<int64_t>& count) {
  if (!count) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(1, *count));
}

std::optional<double> as_double(const std::optional<int64_t>& count) {
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

using ValueOfRow = std::function<std::optional<double>(const EvalRow&)>;
struct Metric {
  const char* name;
  ValueOfRow value;
};

using Tools = const ToolOutcome&;

/// A metric of turns whose model may call tools.
ValueOfRow of_tools(std::optional<double> (*value)(Tools tools, const EvalRow& row)) {
  return [value](const EvalRow& row) { return row.tools ? value(*row.tools, row) : std::nullopt; };
}

std::optional<double> as_share(const std::optional<bool>& answer) {
  return answer ? std::optional(*answer ? 1.0 : 0.0) : std::nullopt;
}

/// Whether nobody waited for the tools of a turn that called some, which took `least` seconds.
std::optional<double> hidden(Tools tools, double least) {
  if (!tools.only_reads || tools.slowest < least) return std::nullopt;
  return as_share(tools.waited == 0);
}

/// Whether the user said what the call needs early enough for hidden().
std::optional<double> could_be_hidden(Tools tools, double least) {
  if (!tools.said_ahead || !hidden(tools, least)) return std::nullopt;
  return as_share(*tools.said_ahead >= tools.slowest);
}

/// Whether the call was known `ahead` of the final transcript.
std::optional<double> known(Tools tools, double ahead) {
  return tools.known_ahead ? as_share(*tools.known_ahead > ahead) : std::nullopt;
}

// The list of metrics: every one becomes a summary by method and a field of each row.
const std::vector<Metric>& metrics() {
  using Row = const EvalRow&;
  static const std::vector<Metric> list{
      {"ttfs", [](Row row) { return row.result.metrics.ttfs; }},
      {"ttft", [](Row row) { return row.ttft; }},
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
      {"ready_before_end",
       [](Row row) -> std::optional<double> {
         if (!row.result.metrics.nfe_to_first_sentence) return std::nullopt;
         return row.result.metrics.ready_before_end ? 1.0 : 0.0;
       }},
      {"wait_from_last_word",
       [](Row row) -> std::optional<double> {
         const std::optional<double>& ttfs = row.result.metrics.ttfs;
         return ttfs ? std::optional(row.end_of_turn_wait + *ttfs) : std::nullopt;
       }},
      {"voice_to_voice",
       [](Row row) -> std::optional<double> {
         const std::optional<double>& sound = row.result.metrics.audio_latency;
         return row.has_voice && sound ? std::optional(row.end_of_turn_wait + *sound)
                                       : std::nullopt;
       }},
      {"heard_share", [](Row row) { return heard_share(row.result); }},
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
      {"draft_cost",
       [](Row row) { return row.draft_cost > 0 ? std::optional(row.draft_cost) : std::nullopt; }},
      {"values_to_repeat", [](Row row) { return as_double(row.repeated_values.num_values); }},
      {"values_repeated", [](Row row) { return as_double(row.repeated_values.num_repeated); }},
      {"right_call", of_tools([](Tools tools, Row) { return as_share(tools.is_right); })},
      {"right_call_told", of_tools([](Tools tools, Row row) -> std::optional<double> {
         const TurnMetrics& metrics = row.result.metrics;
         const bool is_told = tools.calls.empty() || metrics.result_audio_latency.has_value();
         const bool is_mute = !metrics.audio_latency && !row.result.text.empty();
         if (!tools.is_right || (*tools.is_right && !is_told && is_mute)) return std::nullopt;
         return as_share(*tools.is_right && is_told);
       })},
      {"right_tool", of_tools([](Tools tools, Row) { return as_share(tools.is_right_tool); })},
      {"malformed_calls",
       of_tools([](Tools tools, Row) { return as_double(tools.num_malformed); })},
      {"wait_for_result",
       [](Row row) -> std::optional<double> {
         const std::optional<double>& sound = row.result.metrics.result_audio_latency;
         return sound ? std::optional(row.end_of_turn_wait + *sound) : std::nullopt;
       }},
      {"tool_wait", of_tools([](Tools tools, Row) {
         return tools.calls.empty() ? std::nullopt : std::optional(tools.waited);
       })},
      {"tool_hidden", of_tools([](Tools tools, Row) { return hidden(tools, 0); })},
      {"slow_tool_hidden", of_tools([](Tools tools, Row) { return hidden(tools, kSlowTool); })},
      {"slow_tool_could_be_hidden",
       of_tools([](Tools tools, Row) { return could_be_hidden(tools, kSlowTool); })},
      {"call_known", of_tools([](Tools tools, Row) { return known(tools, 0); })},
      {"call_foreseen",
       of_tools([](Tools tools, Row row) { return known(tools, row.end_of_turn_wait); })},
      {"early_calls",
       of_tools([](Tools, Row row) { return as_double(row.result.metrics.early_calls); })},
      {"early_calls_wasted", of_tools([](Tools, Row row) {
         const TurnMetrics& metrics = row.result.metrics;
         return as_double(metrics.early_calls - metrics.early_calls_kept);
       })},
      {"effects_ahead", of_tools([](Tools tools, Row) { return as_double(tools.effects_ahead); })},
  };
  return list;
}

int64_t num_words(const std::string& text) { return std::ssize(list_words(text)); }

/// The events of the turn, [seconds since the user began, kind, text]; without the sentences after
/// the first one.
Json trace_of(const EvalRow& row) {
  Json trace = Json::array();
  for (const TurnEvent& event : row.result.events) {
    if (event.kind == TurnEvent::Kind::kSentence) continue;
    trace.push_back({(event.time - row.start).count(), to_string(event.kind), event.text});
  }
  return trace;
}

Json row_to_json(const EvalRow& row, const TurnSet& set) {
  const EvalTurn& turn = set.turns.at(row.turn_index);
  Json json{{"turn", row.turn_index},        {"id", turn.id},
            {"method", row.method},          {"prompt", turn.prompt_text},
            {"text", row.result.text},       {"first_sentence", row.result.first_sentence},
            {"token_ids", row.result.answer}};
  for (const Metric& candidate : metrics()) json[candidate.name] = to_json(candidate.value(row));
  for (const char* question : {"first_sentence_kept", "ready_before_end", "right_call",
                               "right_call_told", "right_tool", "tool_hidden", "slow_tool_hidden",
                               "slow_tool_could_be_hidden", "call_known", "call_foreseen"}) {
    if (Json& answer = json[question]; !answer.is_null()) answer = answer == 1.0;
  }
  json["flip_token"] = row.flip ? Json(row.flip->token) : Json(nullptr);
  json["flip_margin"] = row.flip ? to_json(row.flip->margin) : Json(nullptr);
  json["last_change"] = last_change(turn);
  json["source"] = turn.source.empty() ? Json(nullptr) : Json(turn.source);
  json["tool_group"] = turn.right_call ? Json(turn.right_call->group) : Json();
  if (row.tools) json["calls"] = call_text(row.tools->calls);
  json["prompt_words"] = num_words(turn.prompt_text);
  json["round"] = round_of(set.turns, row.turn_index);
  json["revised_share"] = to_json(revised_share(turn.recorded));
  add_quality(turn, json);
  if (row.turn_index < kTracedTurns) json["trace"] = trace_of(row);
  return json;
}

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) names.push_back(metric.name);
  return names;
}

Json to_json(const EvalRun& run, const TurnSet& set) {
  Json json{{"rows", Json::array()}, {"failed", Json::array()}};
  for (const EvalRow& row : run.rows) {
    json["rows"].push_back(row_to_json(row, set));
  }
  for (const FailedTurn& failed : run.failed) {
    json["failed"].push_back({{"turn", failed.turn_index},
                              {"id", set.turns.at(failed.turn_index).id},
                              {"method", failed.method},
                              {"error", failed.error}});
  }
  return json;
}

std::optional<double> value_of(const Json& row, const std::string& metric) {
  const Json& value = row.at(metric);
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

std::vector<std::optional<double>> values_of(const Rows& rows, const std::string& metric) {
  std::vector<std::optional<double>> values;
  for (const Json* row : rows) values.push_back(value_of(*row, metric));
  return values;
}

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
