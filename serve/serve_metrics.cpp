#include "serve/serve_metrics.h"

#include <fmt/format.h>

namespace predgen::serve {
namespace {

void add_head(std::string& text, const char* name, const char* type, const char* help) {
  text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

void add_value(std::string& text, const char* name, const char* type, const char* help,
               int64_t value) {
  add_head(text, name, type, help);
  text += fmt::format("{} {}\n", name, value);
}

void add_outcomes(std::string& text, const char* name, const char* help,
                  const std::map<std::string, int64_t>& counts) {
  add_head(text, name, "counter", help);
  for (const auto& [outcome, count] : counts) {
    text += fmt::format("{}{{outcome=\"{}\"}} {}\n", name, outcome, count);
  }
}

}  // namespace

void ServeMetrics::Histogram::observe(Seconds value) {
  for (size_t i = 0; i < kBounds.size(); ++i) up_to[i] += value.count() <= kBounds[i];
  ++count;
  sum += value.count();
}

void ServeMetrics::count_request(const std::string& path, int status) {
  const Lock lock(mutex_);
  ++requests_[{path, status}];
}

void ServeMetrics::count_pass(const PassSize& size) {
  const Lock lock(mutex_);
  ++passes_;
  pass_sequences_ += size.num_sequences;
  pass_tokens_ += size.num_tokens;
}

void ServeMetrics::count_prompt(int64_t num_tokens, int64_t num_cached) {
  const Lock lock(mutex_);
  prompt_tokens_ += num_tokens;
  cached_tokens_ += num_cached;
}

void ServeMetrics::count_generated(int64_t num_tokens) {
  const Lock lock(mutex_);
  generated_tokens_ += num_tokens;
}

void ServeMetrics::count_turn(const TurnMetrics& turn) {
  const Lock lock(mutex_);
  ++turns_;
  kept_sentences_ += turn.first_sentence_kept;
  speculative_passes_ += turn.speculative_nfe;
  turn_passes_ += turn.total_nfe;
  drafted_tokens_ += turn.spec_tokens_drafted;
  accepted_tokens_ += turn.spec_tokens_accepted;
  if (turn.ttfs) first_sentence_.observe(Seconds(*turn.ttfs));
  if (turn.audio_latency) audio_latency_.observe(Seconds(*turn.audio_latency));
}

void ServeMetrics::count_tool_call(const std::string& outcome, Seconds elapsed) {
  const Lock lock(mutex_);
  ++tool_calls_[outcome];
  tool_seconds_.observe(elapsed);
}

void ServeMetrics::note_pool(const KvPool& pool) {
  kv_positions_ = pool.num_allocated();
  kv_swapped_out_ = pool.num_swapped_out();
}

void ServeMetrics::observe_first_token(Seconds elapsed) {
  const Lock lock(mutex_);
  first_token_.observe(elapsed);
}

void ServeMetrics::observe_first_sentence(Seconds elapsed) {
  const Lock lock(mutex_);
  first_sentence_.observe(elapsed);
}

std::string ServeMetrics::text(const State& state) const {
  const Lock lock(mutex_);
  std::string text;
  add_head(text, "predgen_requests_total", "counter", "HTTP requests that were answered.");
  for (const auto& [key, count] : requests_) {
    text += fmt::format("predgen_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, count);
  }
  add_value(text, "predgen_active_sessions", "gauge", "Answers under way.", state.sessions);
  add_value(text, "predgen_realtime_sessions", "gauge", "Realtime connections.",
            state.conversations);
  add_value(text, "predgen_speaking_conversations", "gauge", "Conversations whose users speak.",
            speaking);
  add_value(text, "predgen_answering_conversations", "gauge", "Conversations that answer.",
            answering);
  add_value(text, "predgen_waiting_sessions", "gauge",
            "Answers and drafts that wait for a pass or for another one's turn.", state.waiting);
  add_value(text, "predgen_kv_positions", "gauge",
            "Positions in caches, of answers under way and of kept conversations.", kv_positions_);
  add_value(text, "predgen_kv_swapped_positions", "gauge",
            "Positions of them in host memory, for want of room (pool_positions).",
            kv_swapped_out_);
  add_value(text, "predgen_forward_passes_total", "counter", "Runs of the network.", passes_);
  add_value(text, "predgen_pass_sequences_total", "counter",
            "Sequences in these runs; divided by their number: how many share one.",
            pass_sequences_);
  add_value(text, "predgen_pass_tokens_total", "counter", "Tokens in these runs.", pass_tokens_);
  add_value(text, "predgen_prefix_cache_queries_total", "counter", "Tokens of prompts.",
            prompt_tokens_);
  add_value(text, "predgen_prefix_cache_hits_total", "counter",
            "Those of them that were cached already.", cached_tokens_);
  add_value(text, "predgen_generated_tokens_total", "counter", "Tokens of answers.",
            generated_tokens_);
  add_value(text, "predgen_turns_total", "counter", "Turns of realtime sessions.", turns_);
  add_value(text, "predgen_kept_first_sentences_total", "counter",
            "Those of them whose first sentence was drafted before their user's last word.",
            kept_sentences_);
  add_value(text, "predgen_turn_passes_total", "counter", "Passes that these turns had a part in.",
            turn_passes_);
  add_value(text, "predgen_speculative_passes_total", "counter",
            "Those of them before the user's last word.", speculative_passes_);
  add_outcomes(text, "predgen_spec_tokens_total",
               "Tokens that were drafted while users spoke: those that stayed in answers, and "
               "others.",
               {{"accepted", accepted_tokens_}, {"rejected", drafted_tokens_ - accepted_tokens_}});
  add_outcomes(text, "predgen_predicted_calls_total",
               "Calls of realtime clients' functions that were known while users spoke: those that "
               "were made, and others.",
               {{"kept", predicted_kept_}, {"discarded", predicted_discarded_}});
  add_outcomes(text, "predgen_early_calls_total",
               "Calls of the server's own tools that began while users spoke: those that answers "
               "made, and others.",
               {{"kept", early_kept_}, {"discarded", early_discarded_}});
  add_outcomes(text, "predgen_tool_calls_total", "Calls of the server's own tools.", tool_calls_);
  const auto add_histogram = [&](const char* name, const char* help, const Histogram& histogram) {
    add_head(text, name, "histogram", help);
    for (size_t i = 0; i < kBounds.size(); ++i) {
      text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], histogram.up_to[i]);
    }
    text += fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                        histogram.count, histogram.sum);
  };
  add_histogram("predgen_time_to_first_token_seconds", "From a request to its answer's first text.",
                first_token_);
  add_histogram("predgen_time_to_first_sentence_seconds",
                "From a request, or a user's last word, to the answer's first whole sentence.",
                first_sentence_);
  add_histogram("predgen_audio_latency_seconds",
                "From a user's last word to the answer's first sound.", audio_latency_);
  add_histogram("predgen_tool_seconds", "What calls of the server's own tools took.",
                tool_seconds_);
  return text;
}

}  // namespace predgen::serve
