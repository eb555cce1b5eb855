#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>

#include "audio/audio_source.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "hear/sound_start.h"
#include "hear/turn_recogniser.h"
#include "hear/user_turns.h"

namespace predgen {

/// What the user may say while the assistant speaks.
enum class WhileSpeaking {
  kNotHeard,    // the microphone would hear the assistant
  kInterrupts,  // the user's voice ducks it, words end it: TurnTaking
};

/// Makes turns out of sound: its own thread reads the source, a recogniser finds the words. When
/// the sound ends or reading fails, silence follows until the turn in progress is over; a
/// recogniser that is late then has kLate to end it.
class SpokenTurns : public UserTurns {
 public:
  struct Options {
    EndOfTurn end{};
    WhileSpeaking while_speaking = WhileSpeaking::kInterrupts;
    TurnTakingRules rules{};
    bool tells_pauses = false;     // Transcript::is_stable, for InputTimeWork::kPreempt
    AudioSink* answers = nullptr;  // as UserTurns has it
  };
  /// Listens from now on. Borrows all.
  SpokenTurns(const MakeRecogniser& make_recogniser, AudioSource& audio, const Options& options,
              Clock& clock, const std::stop_token& stop);
  ~SpokenTurns() override;

  /// As TurnRecogniser::expect_end(), with `words` as transcripts have them.
  void expect_end(const std::string& words, double probability) {
    recogniser_.expect_end(without_again(words), probability);
  }

 private:
  void hear_voice(const UserVoice& voice);
  void listen(const std::stop_token& destroyed);
  /// Feeds silence until the turn, if there is one, is over.
  void end_sound(int sample_rate, const std::stop_token& destroyed);

  AudioSource& audio_;
  const Options options_;
  Clock& clock_;
  const std::stop_token stop_;

  Mutex mutex_;
  SoundStart start_ GUARDED_BY(mutex_);

  TurnRecogniser recogniser_;
  std::jthread thread_;  // last: it uses all of them
};

}  // namespace predgen
