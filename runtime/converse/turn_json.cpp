#include "runtime/converse/turn_json.h"

namespace predgen {
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
