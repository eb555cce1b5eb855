#include "cli/turn_summary.h"

#include <fmt/format.h>

namespace predgen::cli {

std::string turn_summary(const TurnMetrics& metrics) {
  if (!metrics.ttfs) return "no answer";
  const int64_t num_passes = metrics.nfe_to_first_sentence.value_or(0);
  std::string line =
      fmt::format("first sentence {:.0f} ms after the last word, {} forward {}",
                  *metrics.ttfs * 1e3, num_passes, num_passes == 1 ? "pass" : "passes");
  if (metrics.draft_model_nfe_to_first_sentence > 0) {
    line += fmt::format(" and {} of the draft model", metrics.draft_model_nfe_to_first_sentence);
  }
  if (metrics.first_sentence_kept) line += ", kept from the draft";
  if (metrics.audio_latency) {
    line += fmt::format("; audio at {:.0f} ms", *metrics.audio_latency * 1e3);
  }
  if (metrics.lead_time.value_or(0) > 0) {
    line += fmt::format(", ready {:.0f} ms before the last word", *metrics.lead_time * 1e3);
  }
  return line;
}

std::optional<std::string> cut_message(const TurnResult& result) {
  switch (result.stop_reason) {
    case StopReason::kMaxNewTokens:
      return fmt::format("stopped after {} tokens; --max-new-tokens allows more",
                         result.answer.size());
    case StopReason::kCacheFull:
      return fmt::format(
          "stopped after {} tokens, as the context is full; --max-context allows more",
          result.answer.size());
    case StopReason::kRepetition:
      return std::string("stopped, as it repeats itself; --let-repeat goes on");
    case StopReason::kStopToken:
    case StopReason::kCancelled:
      break;
  }
  return std::nullopt;
}

std::string dropped_rounds_message(int64_t num_rounds) {
  return fmt::format("the context is full: the oldest {} of this conversation {} forgotten",
                     num_rounds == 1 ? "round" : fmt::format("{} rounds", num_rounds),
                     num_rounds == 1 ? "is" : "are");
}

}  // namespace predgen::cli
