#include "serve/realtime/draft_events.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "runtime/converse/early_calls.h"

namespace predgen::serve {
namespace {

/// `text` without the prefix that it shares with `other`, in whole characters.
std::string rest_after(const std::string& text, const std::string& other) {
  return text.substr(common_start(text, other));
}

}  // namespace

void DraftEvents::begin_turn() {
  heard_ = {};
  draft_.clear();
  last_draft_.clear();
  has_answer_ = false;
  predicted_.clear();
}

void DraftEvents::hear(const Transcript& heard) {
  heard_ = heard;
  if (!draft_.empty()) last_draft_ = std::exchange(draft_, {});
}

void DraftEvents::draft(const std::string& text, size_t accepted_bytes, bool is_wanted) {
  draft_ = text;
  if (!is_wanted) return;
  const std::string kept = text.substr(0, accepted_bytes);
  listener_.on_event(DraftMade{.transcript = heard_.text,
                               .kept = kept,
                               .drafted = text.substr(accepted_bytes),
                               .rejected = rest_after(last_draft_, kept)});
}

void DraftEvents::predict(const std::vector<DraftedCall>& calls, bool is_wanted) {
  for (const DraftedCall& drafted : calls) {
    const bool is_known = std::ranges::find(predicted_, drafted.key) != predicted_.end();
    if (drafted.num_kept == 0 || is_known) continue;
    predicted_.push_back(drafted.key);
    if (is_wanted) listener_.on_event(CallPredicted{drafted.call});
  }
}

std::pair<int64_t, int64_t> DraftEvents::count_predicted(const std::vector<ToolCall>& made) const {
  const auto num_made = std::ranges::count_if(predicted_, [&](const std::string& key) {
    return std::ranges::find(made, key, canonical_call) != made.end();
  });
  return {std::ssize(predicted_), num_made};
}

void DraftEvents::answer(const std::string& text, bool is_wanted) {
  if (std::exchange(has_answer_, true) || !is_wanted) return;
  const std::string rejected = rest_after(last_draft_, text);
  const size_t num_kept = last_draft_.size() - rejected.size();
  listener_.on_event(DraftKept{.kept = last_draft_.substr(0, num_kept), .rejected = rejected});
}

}  // namespace predgen::serve
