#include "runtime/converse/turn.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace predgen {

std::string to_string(TurnEvent::Kind kind) {
  switch (kind) {
    case TurnEvent::Kind::kTranscript:
      return "transcript";
    case TurnEvent::Kind::kDraft:
      return "draft";
    case TurnEvent::Kind::kNotExplored:
      return "not_explored";
    case TurnEvent::Kind::kFinal:
      return "final";
    case TurnEvent::Kind::kRoundsDropped:
      return "rounds_dropped";
    case TurnEvent::Kind::kFirstSentence:
      return "first_sentence";
    case TurnEvent::Kind::kSentence:
      return "sentence";
    case TurnEvent::Kind::kDone:
      return "done";
    case TurnEvent::Kind::kFailed:
      return "failed";
  }
  throw Error("unknown kind of event");
}

void add_round(TurnResult& turn, TurnResult next) {
  const bool begins = !turn.metrics.ttfs;
  turn.text = joined(turn.text, " ", next.text);
  turn.thought += next.thought;
  turn.thought_tokens += next.thought_tokens;
  turn.earlier_prompt_tokens += std::ssize(turn.prompt);
  turn.earlier_answer_tokens += std::ssize(turn.answer);
  turn.answer = std::move(next.answer);
  turn.prompt = std::move(next.prompt);
  turn.stop_reason = next.stop_reason;
  turn.error = std::move(next.error);
  turn.dropped_rounds += next.dropped_rounds;
  std::ranges::move(next.calls, std::back_inserter(turn.calls));
  std::ranges::move(next.events, std::back_inserter(turn.events));
  TurnMetrics& all = turn.metrics;
  const TurnMetrics& more = next.metrics;
  if (begins && more.ttfs) {
    turn.first_sentence = next.first_sentence;
    turn.first_sentence_tokens = next.first_sentence_tokens;
    all.ttfs = more.ttfs;
    all.ttfs_paper = more.ttfs_paper;
    all.first_words = more.first_words;
    all.audio_latency = more.audio_latency;
    all.lead_time = more.lead_time;
    all.first_sentence_kept = more.first_sentence_kept;
    all.ready_before_end = more.ready_before_end;
    all.nfe_to_first_sentence =
        all.total_nfe - all.speculative_nfe + more.nfe_to_first_sentence.value_or(0);
  }
  if (!all.result_audio_latency) all.result_audio_latency = more.audio_latency;
  all.total_nfe += more.total_nfe;
  all.spec_tokens_accepted += more.spec_tokens_accepted;
  all.spec_tokens_wasted = all.spec_tokens_drafted - all.spec_tokens_accepted;
  all.draft_model_total_nfe += more.draft_model_total_nfe;
}

namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json metrics_json(const TurnMetrics& metrics) {
  return {{"ttfs", or_null(metrics.ttfs)},
          {"ttfs_paper", or_null(metrics.ttfs_paper)},
          {"audio_latency", or_null(metrics.audio_latency)},
          {"lead_time", or_null(metrics.lead_time)},
          {"nfe_to_first_sentence", or_null(metrics.nfe_to_first_sentence)},
          {"first_sentence_kept", metrics.first_sentence_kept},
          {"ready_before_end", metrics.ready_before_end},
          {"speculative_nfe", metrics.speculative_nfe},
          {"total_nfe", metrics.total_nfe},
          {"draft_model_nfe_to_first_sentence", metrics.draft_model_nfe_to_first_sentence},
          {"draft_model_speculative_nfe", metrics.draft_model_speculative_nfe},
          {"draft_model_total_nfe", metrics.draft_model_total_nfe},
          {"spec_tokens_drafted", metrics.spec_tokens_drafted},
          {"spec_tokens_accepted", metrics.spec_tokens_accepted},
          {"spec_tokens_wasted", metrics.spec_tokens_wasted},
          {"early_calls", metrics.early_calls},
          {"early_calls_kept", metrics.early_calls_kept}};
}

}  // namespace predgen
