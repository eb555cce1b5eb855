#include "evaluate/heard_share.h"

#include <algorithm>
#include <string>

#include "core/text.h"

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

}  // namespace predgen::evaluate
