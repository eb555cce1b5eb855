#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"

namespace predgen {

/// How long a voice is silent until its words are stable.
constexpr Seconds kStablePause{0.2};

/// Everything heard of one turn so far. Not a delta: a later one may change earlier words.
struct Transcript {
  std::string text;
  int64_t revision = 0;   // 1, 2, .. over the life of a source
  Seconds time{0};        // when it arrived
  bool is_final = false;  // the user has stopped; an event of its own even if the text repeats
  // The voice has paused with these words; an event of its own, if the source tells of pauses.
  bool is_stable = false;
};

/// The user's words as they arrive: typed text, a recording, stdin. The runtime sees nothing that
/// has not arrived yet. Calls come from one thread.
class TranscriptSource {
 public:
  virtual ~TranscriptSource() = default;

  /// The newest transcript that arrived at or before `now`, but never past a final one that
  /// wait_newer() has not returned yet. Never waits.
  virtual std::optional<Transcript> latest(Seconds now) = 0;

  /// Waits until a transcript newer than `revision` has arrived and returns the newest.
  /// A final one that was returned ends its turn: neither it nor what came before is given again.
  /// nullopt: the input has ended.
  virtual std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) = 0;

  /// Whether other words are about to come: the voice has paused, and what it said last is being
  /// recognised. False if the source cannot tell. Never waits.
  virtual bool expects_words(Seconds now) = 0;
};

}  // namespace predgen
