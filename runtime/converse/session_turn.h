#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "runtime/converse/idle_work.h"
#include "runtime/converse/session.h"

namespace predgen {

/// What belongs to the turn under way.
struct Session::Turn {
  TranscriptSource& source;
  const TurnObserver& observer;
  const std::stop_token& stop;
  IdleWork idle_work;
  TurnResult result{};
  /// Tokens of the draft's first sentence; all of them while it is not whole.
  int64_t first_sentence = std::numeric_limits<int64_t>::max();
  std::shared_ptr<const Sampler> sampler{};  // none: greedy
  bool is_over = false;                      // the user's words are final
  size_t trace_bytes = 0;                    // of texts in events
};

}  // namespace predgen
