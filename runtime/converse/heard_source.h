#pragma once

#include <stop_token>
#include <string>
#include <utility>

#include "hear/transcripts/transcript_queue.h"
#include "runtime/engine/baton.h"

namespace predgen {

/// Transcripts that others push, for a session that shares an engine: waiting gives up the baton.
/// push() and is_empty() are for any thread, push() and push_stable() for one at a time.
class HeardSource : public TranscriptSource {
 public:
  /// The clock is read by any thread. Borrows both.
  HeardSource(Baton& baton, const Clock& clock) : baton_(baton), queue_(clock) {}

  void push(std::string text, bool is_final) { queue_.push(std::move(text), is_final); }
  /// Transcript::is_stable.
  void push_stable(std::string text) { queue_.push_stable(std::move(text)); }
  bool is_empty() const { return queue_.size() == 0; }

  /// `stop`: ends the waits of this turn, which throw Interrupted.
  void begin_turn(const std::stop_token& stop) { stop_ = stop; }
  /// Forgets everything up to a final transcript, if there is one.
  void drop_final() { queue_.drop_final(); }

  std::optional<Transcript> latest(Seconds now) override { return queue_.latest(now); }
  /// Never nullopt: the input does not end.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

 private:
  Baton& baton_;
  std::stop_token stop_;
  TranscriptQueue queue_;
};

}  // namespace predgen
