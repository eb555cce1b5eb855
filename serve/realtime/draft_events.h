#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hear/transcripts/transcript_source.h"
#include "serve/realtime/conversation_listener.h"

namespace predgen::serve {

/// Sends a client that asked for them events about drafts: what is kept of each at the next
/// transcript, and of the last one in the answer. Used by one thread; borrows the listener.
class DraftEvents {
 public:
  explicit DraftEvents(ConversationListener& listener) : listener_(listener) {}

  void begin_turn();
  void hear(const Transcript& heard);
  /// As TurnObserver::on_draft. `is_wanted`: otherwise nothing is sent.
  void draft(const std::string& text, size_t accepted_bytes, bool is_wanted);
  /// As TurnObserver::on_calls: the first time that later words have kept a call, it is sent.
  void predict(const std::vector<DraftedCall>& calls, bool is_wanted);
  /// How many calls were predicted in this turn, and how many of these are in `made`.
  std::pair<int64_t, int64_t> count_predicted(const std::vector<ToolCall>& made) const;
  /// More of the answer; the first call reports what it keeps of the draft.
  void answer(const std::string& text, bool is_wanted);

 private:
  ConversationListener& listener_;
  Transcript heard_;
  std::string draft_, last_draft_;  // of the transcript, and of one before it
  bool has_answer_ = false;
  std::vector<std::string> predicted_;  // canonical calls
};

}  // namespace predgen::serve
