#pragma once

#include <functional>
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
  /// From now on. Borrows the first three. `stop` ends it, too. `is_held`: push to talk: whether
  /// the user is speaking, in turns that are committed when that ends; empty: all sound is heard.
  SoundReader(AudioSource& audio, Conversation& conversation, Clock& clock,
              const std::stop_token& stop, std::function<bool()> is_held = {});

 private:
  void read(const std::stop_token& destroyed);
  void add(std::span<const float> block);
  void commit();
  /// Feeds silence until the turn, if there is one, is over.
  void end_sound(const std::stop_token& destroyed);

  AudioSource& audio_;
  Conversation& conversation_;
  Clock& clock_;
  const std::stop_token stop_;
  const std::function<bool()> is_held_;
  bool was_held_ = false;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace predgen
