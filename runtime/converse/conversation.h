#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "audio/audio_sink.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "hear/sound_start.h"
#include "hear/transcripts/transcript_queue.h"
#include "hear/turn_recogniser.h"
#include "hear/turn_taking.h"
#include "runtime/converse/conversation_events.h"
#include "runtime/converse/session.h"

namespace predgen {

/// What the user may say while the assistant speaks.
enum class WhileSpeaking {
  kNotHeard,    // the microphone would hear the assistant
  kInterrupts,  // the user's voice ducks it, words end it: TurnTaking
};

/// One user and the answers that a session gives. Any thread brings what the user says, as sound or
/// as words, which become transcripts; one thread calls take_turn() in a loop. The user's voice and
/// words act on the answer by the rules of TurnTaking. Lock order: the recogniser's, this one's,
/// then the queue's or a speaker's, and the sink's.
class Conversation : public TranscriptSource, public RecognisedTurnHandler {
 public:
  struct Options {
    MakeRecogniser make_recogniser{};  // empty: words come instead of sound
    int sample_rate = 0;               // of the user's sound, in Hz
    EndOfTurn end{};                   // of a turn in it
    WhileSpeaking while_speaking = WhileSpeaking::kInterrupts;
    TurnTakingRules rules{};
    bool tells_pauses = false;     // Transcript::is_stable, for InputTimeWork::kPreempt
    AudioSink* answers = nullptr;  // where the answers' sound goes; null: no sound
  };

  /// Borrows the sink, the listener and the clock, which any thread reads. `stop` ends every wait,
  /// which throws Interrupted.
  Conversation(const Options& options, ConversationListener& listener, Clock& clock,
               const std::stop_token& stop);

  // The answering side: one thread.

  /// Hears a turn and answers it, until its sound was played or the user has ended it. A question
  /// whose answer was ended before any of it was heard is asked again: in front of what the user
  /// says next, or by itself if that comes to nothing. `source`: what the words come through, which
  /// asks this. False: there are no more turns. Interrupted after a stop.
  bool take_turn(Session& session, TranscriptSource& source);
  bool take_turn(Session& session) { return take_turn(session, *this); }

  // What take_turn() is made of, beside the session's turn.

  /// The assistant is silent from here on. The token is stopped when the answer to this turn is to
  /// be abandoned: by the user's words or a stop.
  std::stop_token begin_turn();
  /// There is a draft for what was heard.
  void note_draft();
  /// Nothing was heard of the answer to the last final transcript, so the history has neither.
  void ask_again();
  /// Of the last final transcript that wait_newer() gave.
  SpokenTimes times() const;

  std::optional<Transcript> latest(Seconds now) override;
  /// nullopt: the input has ended. An error that ended it is thrown.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

  // The user's sound: one thread.

  /// A block of sound that has just arrived; at least every 20 ms.
  void add_sound(std::span<const float> samples);
  void add_silence(size_t num_samples);
  /// The turn in the sound ends here.
  void commit_sound();
  const EndOfTurn& end_of_turn() const { return options_.end; }

  // What a recogniser finds in it, or has sent. Any thread, one call at a time.

  void on_speech(int64_t, int64_t) override {}
  void on_words(const std::string& words) override;
  void on_turn(const RecognisedTurn& turn) override;
  void on_lost(const SoundError& why) override;
  /// `ended`: after the voice's last sample, if it is not active.
  void on_voice(bool is_active, Seconds ended);
  /// The voice has paused after these words.
  void on_pause(const std::string& words);

  // Any thread.

  /// As TurnRecogniser::expect_end(), with `words` as transcripts have them.
  void expect_end(const std::string& words, double probability);
  /// Time has passed; at least every 20 ms.
  void tick();
  /// Nothing more is heard: an unfinished turn counts as a turn, and wait_newer() ends after it, by
  /// throwing `failure` if there is one.
  void end(std::exception_ptr failure = {});

  TurnTaking::State state() const;
  /// Whether a turn is under way.
  bool is_speaking() const;
  /// Whether no turn is under way, but one is over and not yet answered.
  bool is_over() const;
  /// Whether a turn is being answered, and the user has not ended the answer.
  bool is_answering() const;
  /// Transcripts that were not taken yet, and times of them.
  size_t size() const;
  /// How often the user's speech was lost.
  int64_t num_lost() const;

 private:
  TurnObserver observer();
  void hear_voice(const UserVoice& voice);

  void act(const TurnActions& actions, const std::string& words) REQUIRES(mutex_);
  void look_at_sound() REQUIRES(mutex_);
  void tick_locked() REQUIRES(mutex_);
  void end_turn(const std::string& words) REQUIRES(mutex_);
  /// With the question that is asked again before it.
  std::optional<Transcript> whole(std::optional<Transcript> heard) const REQUIRES(mutex_);
  /// Words of a transcript without that question.
  std::string without_again(const std::string& words) const;

  const Options options_;
  ConversationListener& listener_;
  Clock& clock_;
  const std::stop_token stop_;
  TranscriptQueue queue_;  // thread-safe

  mutable Mutex mutex_;
  TurnTaking taking_ GUARDED_BY(mutex_);
  SoundStart start_ GUARDED_BY(mutex_);
  Seconds sound_length_ GUARDED_BY(mutex_){0};          // that has arrived
  Seconds voice_ended_ GUARDED_BY(mutex_){0};           // of the turn under way
  Seconds words_known_ GUARDED_BY(mutex_){0};           // likewise
  std::deque<SpokenTimes> untaken_ GUARDED_BY(mutex_);  // of final ones in the queue, not yet ended
  SpokenTimes taken_ GUARDED_BY(mutex_){};              // of the last final one that was taken
  bool is_speaking_ GUARDED_BY(mutex_) = false;         // a turn is under way
  bool has_ended_ GUARDED_BY(mutex_) = false;
  int64_t num_played_ GUARDED_BY(mutex_) = 0;  // of the answers' sound, before this answer
  std::string asked_ GUARDED_BY(mutex_);       // the last final transcript that was taken
  std::string again_ GUARDED_BY(mutex_);       // that, if it is asked again
  std::string lost_ GUARDED_BY(mutex_);        // why something was lost last
  int64_t num_lost_ GUARDED_BY(mutex_) = 0;
  std::stop_source turn_ GUARDED_BY(mutex_);
  std::stop_callback<std::function<void()>> on_stop_;
  std::optional<TurnRecogniser> recogniser_;  // last: its threads use the others
};

}  // namespace predgen
