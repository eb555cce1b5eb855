#pragma once

#include <stop_token>
#include <thread>

#include "audio/audio_source.h"
#include "core/clock.h"
#include "runtime/converse/conversation.h"

namespace predgen {

/// Reads sound into a conversation, in a thread of its own. When the sound ends or reading fails,
/// silence follows until the turn in progress is over; a recogniser that is late then has kLate to
/// end it, and a session to notice that its answer was ended. That ends the conversation's input.
class SoundReader {
 public:
  /// From now on. Borrows the first three. `stop` ends it, too.
  SoundReader(AudioSource& audio, Conversation& conversation, Clock& clock,
              const std::stop_token& stop);

 private:
  void read(const std::stop_token& destroyed);
  /// Feeds silence until the turn, if there is one, is over.
  void end_sound(const std::stop_token& destroyed);

  AudioSource& audio_;
  Conversation& conversation_;
  Clock& clock_;
  const std::stop_token stop_;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace predgen
