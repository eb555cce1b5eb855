#pragma once

#include <algorithm>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// Turns of another source that may have arrived while an earlier one was being answered: a turn
/// that waited counts from when it was asked for. Borrows the source.
class QueuedTurns : public TranscriptSource {
 public:
  explicit QueuedTurns(TranscriptSource& source) : source_(source) {}

  std::optional<Transcript> latest(Seconds now) override { return source_.latest(now); }

  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override {
    if (!ready_) ready_ = clock.now();
    std::optional<Transcript> newest;
    try {
      newest = source_.wait_newer(revision, clock);
    } catch (...) {  // the turn is over
      ready_.reset();
      throw;
    }
    if (!newest) return newest;
    newest->time = std::max(newest->time, *ready_);
    if (newest->is_final) ready_.reset();
    return newest;
  }

 private:
  TranscriptSource& source_;
  std::optional<Seconds> ready_;  // when the turn in progress was asked for; nullopt: not yet
};

}  // namespace predgen
