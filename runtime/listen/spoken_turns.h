#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/mutex.h"
#include "runtime/listen/audio_source.h"
#include "runtime/listen/transcript_queue.h"
#include "runtime/listen/turn_recogniser.h"

namespace predgen {

/// When a turn was spoken, on the clock.
struct SpokenTimes {
  Seconds voice_ended{0};  // the last sample of the voice
  Seconds words_known{0};  // the last change of what was heard; not before voice_ended
  Seconds turn_ended{0};   // as the final transcript says, too
};

/// What the user may say while the assistant speaks.
enum class WhileSpeaking {
  kNotHeard,    // the microphone would hear the assistant
  kInterrupts,  // words end the answer, but for those that only say "go on"
};

/// Turns out of sound: a thread of its own reads the source, a recogniser makes words of it. When
/// the sound ends, silence follows until the turn under way is over.
class SpokenTurns : public TranscriptSource, private RecognisedTurnHandler {
 public:
  /// Listens from now on. Borrows all; `stop` ends every wait, which throws Interrupted.
  SpokenTurns(const MakeRecogniser& make_recogniser, AudioSource& audio, const EndOfTurn& end,
              WhileSpeaking while_speaking, Clock& clock, const std::stop_token& stop);
  ~SpokenTurns() override;

  /// The assistant is silent from here on. The token says that this turn is to be left: the user
  /// has begun to speak after its final transcript was taken, or a stop.
  std::stop_token begin_turn();
  /// What `words` themselves say: TurnRecogniser::expect_end().
  void expect_end(const std::string& words, double probability) {
    recogniser_.expect_end(words, probability);
  }
  /// Of the last final transcript that wait_newer() gave.
  SpokenTimes times() const;

  std::optional<Transcript> latest(Seconds now) override { return queue_.latest(now); }
  /// Nothing: the sound has ended. UserError if it cannot be read on.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

 private:
  void on_speech(int64_t, int64_t) override {}
  void on_words(const std::string& words) override;
  void on_turn(const RecognisedTurn& turn) override;
  void on_lost(const SoundError& why) override;
  void on_voice(const UserVoice& voice);

  void listen(const std::stop_token& destroyed);
  void add(std::span<const float> samples);
  /// Silence until the turn is over, or was none.
  void end_sound(int sample_rate, const std::stop_token& destroyed);
  bool is_deaf() const;

  AudioSource& audio_;
  const EndOfTurn end_;
  const WhileSpeaking while_speaking_;
  Clock& clock_;
  const std::stop_token stop_;
  TranscriptQueue queue_;

  mutable Mutex mutex_;
  std::optional<Seconds> begin_ GUARDED_BY(mutex_);     // of the sound
  Seconds voice_ended_ GUARDED_BY(mutex_){0};           // of the turn under way
  Seconds words_known_ GUARDED_BY(mutex_){0};           // likewise
  std::deque<SpokenTimes> untaken_ GUARDED_BY(mutex_);  // of final transcripts in the queue
  SpokenTimes taken_ GUARDED_BY(mutex_){};
  bool is_answering_ GUARDED_BY(mutex_) = false;
  bool is_speaking_ GUARDED_BY(mutex_) = false;  // a turn is under way
  std::string lost_ GUARDED_BY(mutex_);          // why sound was refused last
  std::stop_source turn_ GUARDED_BY(mutex_);
  std::stop_callback<std::function<void()>> on_stop_;

  TurnRecogniser recogniser_;
  std::jthread thread_;  // last: it uses all of them
};

/// Whether these words only show that somebody listens: "hm", "yeah", "okay".
bool is_backchannel(const std::string& words);

}  // namespace predgen
