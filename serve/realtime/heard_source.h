#pragma once

#include <condition_variable>
#include <deque>
#include <stop_token>
#include <string>

#include "core/mutex.h"
#include "runtime/engine/baton.h"
#include "runtime/listen/transcript_source.h"

namespace predgen::serve {

/// Transcripts as a client sends them, for a session that shares an engine: it rests while it
/// waits. A final one comes only when the one before was taken, or dropped. push() and is_empty()
/// are for any thread.
class HeardSource : public TranscriptSource {
 public:
  /// The clock is read by any thread. Borrows both.
  HeardSource(Baton& baton, const Clock& clock) : baton_(baton), clock_(clock) {}

  void push(const std::string& text, bool is_final);
  bool is_empty() const;

  /// `stop`: ends the waits of this turn, which throw Interrupted.
  void begin_turn(const std::stop_token& stop) { stop_ = stop; }
  /// Forgets everything up to a final transcript, if there is one.
  void drop_final();

  std::optional<Transcript> latest(Seconds now) override;
  /// Never nothing: there is no end of the input.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

 private:
  std::optional<Transcript> newest_locked() const REQUIRES(mutex_);

  Baton& baton_;
  const Clock& clock_;
  std::stop_token stop_;

  mutable Mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Transcript> transcripts_ GUARDED_BY(mutex_);  // not taken yet
  int64_t num_pushed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace predgen::serve
