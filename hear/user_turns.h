#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "audio/audio_sink.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "hear/transcripts/transcript_queue.h"
#include "hear/turn_recogniser.h"
#include "hear/turn_taking.h"

namespace predgen {

/// When a turn was spoken, on the clock.
struct SpokenTimes {
  Seconds voice_ended{0};  // the last sample of the voice
  Seconds words_known{0};  // the last change of what was heard; not before voice_ended
  Seconds turn_ended{0};   // the time of the final transcript
};

/// What a recogniser hears of a user, as transcripts, and its effect on the answer by the rules of
/// TurnTaking. The recogniser's threads report what was heard; one thread takes transcripts and
/// answers them in a loop: begin_turn(), a turn of a session, and the end of its sound.
class UserTurns : public TranscriptSource, public RecognisedTurnHandler {
 public:
  /// `answers`: where the answers' sound goes; null: no sound. Borrows it and the clock, which any
  /// thread reads. `stop` ends every wait, which throws Interrupted.
  UserTurns(const TurnTakingRules& rules, AudioSink* answers, Clock& clock,
            const std::stop_token& stop);

  // The answering side.

  /// The assistant is silent from here on. The token is stopped when the answer to this turn is to
  /// be abandoned: by the user's words or a stop.
  std::stop_token begin_turn();
  /// There is a draft for what was heard.
  void note_draft();
  /// The answer to the last final transcript was abandoned before any of it was heard, so the
  /// history has neither: the transcript is put before what the user says next, or repeated by
  /// itself if that comes to nothing.
  void say_again();
  /// Of the last final transcript that wait_newer() gave.
  SpokenTimes times() const;
  std::optional<Transcript> latest(Seconds now) override;
  /// nullopt: the input has ended. An error that ended it is thrown.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

  // The hearing side.

  void on_speech(int64_t, int64_t) override {}
  void on_words(const std::string& words) override;
  void on_turn(const RecognisedTurn& turn) override;
  void on_lost(const SoundError& why) override;
  /// `ended`: after the voice's last sample, if it is not active.
  void on_voice(bool is_active, Seconds ended);
  /// The voice has paused after these words.
  void on_pause(const std::string& words);
  /// Time has passed; at least every 20 ms.
  void tick();
  /// Nothing more is heard: an unfinished turn counts as a turn, and wait_newer() ends after it, by
  /// throwing `failure` if there is one.
  void end(std::exception_ptr failure = {});
  /// Whether a turn is under way.
  bool is_speaking() const;
  /// Whether no turn is under way, but one is over and not yet answered.
  bool is_over() const;
  /// Whether a turn is being answered, and the user has not ended the answer.
  bool is_answering() const;

  TurnTaking::State state() const;
  /// Transcripts that were not taken yet, and times of them.
  size_t size() const;
  /// How often the user's speech was lost.
  int64_t num_lost() const;

 protected:
  /// Words of a transcript without the repeated words before them.
  std::string without_again(const std::string& words) const;

 private:
  void act(const TurnActions& actions, const std::string& words) REQUIRES(mutex_);
  void look_at_sound() REQUIRES(mutex_);
  void tick_locked() REQUIRES(mutex_);
  void end_turn(const std::string& words) REQUIRES(mutex_);
  /// With the repeated words before it.
  std::optional<Transcript> whole(std::optional<Transcript> heard) const REQUIRES(mutex_);

  AudioSink* const answers_;
  Clock& clock_;
  const std::stop_token stop_;
  TranscriptQueue queue_;  // thread-safe; its lock comes after this one's

  mutable Mutex mutex_;
  TurnTaking taking_ GUARDED_BY(mutex_);
  Seconds voice_ended_ GUARDED_BY(mutex_){0};           // of the turn under way
  Seconds words_known_ GUARDED_BY(mutex_){0};           // likewise
  std::deque<SpokenTimes> untaken_ GUARDED_BY(mutex_);  // of final ones in the queue, not yet ended
  SpokenTimes taken_ GUARDED_BY(mutex_){};
  bool is_speaking_ GUARDED_BY(mutex_) = false;  // a turn is under way
  bool has_ended_ GUARDED_BY(mutex_) = false;
  int64_t num_played_ GUARDED_BY(mutex_) = 0;  // of answers_, before this answer
  std::string asked_ GUARDED_BY(mutex_);       // the last final transcript that was taken
  std::string again_ GUARDED_BY(mutex_);       // that, if it is repeated
  std::string lost_ GUARDED_BY(mutex_);        // why something was lost last
  int64_t num_lost_ GUARDED_BY(mutex_) = 0;
  std::stop_source turn_ GUARDED_BY(mutex_);
  std::stop_callback<std::function<void()>> on_stop_;  // last: it uses the others
};

}  // namespace predgen
