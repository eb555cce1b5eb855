#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
#include "hear/wake.h"
#include "runtime/converse/answer_sound.h"
#include "runtime/converse/asked_turns.h"
#include "runtime/converse/conversation_events.h"
#include "runtime/converse/session.h"
#include "runtime/converse/tool_rounds.h"
#include "runtime/engine/engine_lock.h"

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
    /// Words count only as Wake has it, if `asks`; nullopt: all that is said counts.
    std::optional<WakeRules> wake{};
    AudioSink* answers = nullptr;       // where the answers' sound goes; null: another plays it
    EngineLock* engine_lock = nullptr;  // given up while words are waited for; null: it is kept
    /// Whether the user's turn is asked when it is over. Otherwise the listener does that, and says
    /// what goes on: hear(), ask(), set_answering(). False with typed words.
    bool asks = true;
    ToolRounds* tools = nullptr;  // runs what the model calls; null: calls are the caller's
    /// Where words come from if they are typed or recorded: whole turns, which nobody interrupts by
    /// speaking. One that has waited there counts from when it was begun. Null: words are heard.
    TranscriptSource* typed = nullptr;
  };

  /// Borrows the sink, the source, the listener and the clock, which any thread reads. `stop` ends
  /// every wait, which throws Interrupted.
  Conversation(const Options& options, ConversationListener& listener, Clock& clock,
               const std::stop_token& stop);

  // The answering side: one thread.

  /// Hears a turn and answers it, until its sound was played or the user has ended it. A question
  /// whose answer was ended before any of it was heard is asked again: in front of what the user
  /// says next, or by itself if that comes to nothing. `source`: what the words come through, which
  /// asks this. False: there are no more turns. Interrupted after a stop.
  bool take_turn(Session& session, TranscriptSource& source) {
    begin_turn();
    return take_turn_begun(session, source);
  }
  bool take_turn(Session& session) {
    begin_turn();
    return take_turn_begun(session, *this);
  }

  // What take_turn() is made of, for who does more in between.

  /// Returns when there is something to do, giving up the engine lock. False: `stop`.
  bool wait_for_work(const std::stop_token& stop);
  /// The assistant is silent from here on. The token is stopped when the answer to this turn is to
  /// be abandoned: by the user's words or a stop. `is_stopped`: one of the last turn counts.
  std::stop_token begin_turn(bool is_stopped = false);
  bool take_turn_begun(Session& session, TranscriptSource& source);
  /// There is a draft for what was heard.
  void note_draft() {
    const Lock lock(mutex_);
    taking_.on_draft();
  }
  /// Nothing was heard of the answer to the last final transcript, so the history has neither.
  void ask_again() {
    const Lock lock(mutex_);
    turns_.ask_again();
    tick_locked();
  }
  /// Of the last final transcript that wait_newer() gave.
  SpokenTimes times() const {
    const Lock lock(mutex_);
    return turns_.times();
  }

  std::optional<Transcript> latest(Seconds now) override;
  /// nullopt: the input has ended. An error that ended it is thrown.
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;
  bool expects_words(Seconds now) override;

  // The user's sound: one thread.

  /// A block of sound that has just arrived; at least every 20 ms.
  void add_sound(std::span<const float> samples);
  void add_silence(size_t num_samples);
  /// The turn in the sound ends here. Errors as TurnRecogniser has them; a turn that is too short
  /// is none with Options::asks, but NothingHeard.
  void commit_sound();
  /// The sound that follows comes after a gap in which there was none.
  void resume_sound();
  /// Forgets the turn in progress.
  void clear_sound();
  /// How turns end from now on.
  void set_end(const EndOfTurn& end);
  EndOfTurn end_of_turn() const {
    const Lock lock(mutex_);
    return end_;
  }
  bool has_recogniser() const { return recogniser_.has_value(); }

  // For who asks himself (Options::asks). Any thread.

  /// What the user has said so far, after lines that were not answered `before`.
  void hear(const std::string& before, const std::string& words);
  /// All that the user has said, to be answered.
  void ask(const std::string& text);
  /// Withdraws what was asked, if no session has taken it.
  void withdraw() {
    const Lock lock(mutex_);
    if (queue_.drop_final()) turns_.withdraw();
  }
  /// An answer goes on until then, as far as is known.
  void set_answering(Seconds until) {
    const Lock lock(mutex_);
    first_words_.set_answering(until);
  }
  /// The session's setting has changed, which is work. `stops_turn`: a draft is restarted with it.
  void change(bool stops_turn) {
    const Lock lock(mutex_);
    has_changed_ = true;
    if (stops_turn) turn_.request_stop();
    changed_.notify_all();
  }
  /// Ends the turn in progress before its next pass.
  void stop_turn() {
    const Lock lock(mutex_);
    turn_.request_stop();
  }
  /// The session has failed at these words: by themselves they are no longer work.
  void block() {
    const Lock lock(mutex_);
    is_blocked_ = true;
  }
  /// Whether the user has said nothing.
  bool is_empty() const { return queue_.size() == 0; }

  // What a recogniser finds in it, or has sent. Any thread, one call at a time.

  void on_speech(int64_t number, int64_t milliseconds) override {
    const Lock lock(mutex_);
    first_words_.begin(number, milliseconds);
  }
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

  TurnTaking::State state() const {
    const Lock lock(mutex_);
    return taking_.state();
  }
  /// Whether a turn is under way.
  bool is_speaking() const {
    const Lock lock(mutex_);
    return is_speaking_;
  }
  /// Whether no turn is under way, but one is over and not yet answered.
  bool is_over() const {
    const Lock lock(mutex_);
    return !is_speaking_ && (taking_.is_answering() || !turns_.is_empty());
  }
  /// Whether a turn is being answered, and the user has not ended the answer.
  bool is_answering() const {
    const Lock lock(mutex_);
    return taking_.is_answering();
  }
  /// Whether the user has ended an answer, which is not broken off yet: its question may be owed.
  bool is_left() const {
    const Lock lock(mutex_);
    return taking_.is_left();
  }
  /// Transcripts that were not taken yet, and times of them.
  size_t size() const {
    const Lock lock(mutex_);
    return queue_.size() + turns_.size();
  }
  /// How often the user's speech was lost.
  int64_t num_lost() const {
    const Lock lock(mutex_);
    return num_lost_;
  }

 private:
  TurnObserver observer();
  void hear_voice(const UserVoice& voice);
  /// The newest words of the turn under way.
  void push_words(const std::string& words) REQUIRES(mutex_);
  /// Words, of which only the listener knows what they do.
  void tell_words(const std::string& words);
  /// Its final transcript comes.
  void commit(const std::string& words) REQUIRES(mutex_);

  void act(const TurnActions& actions, const std::string& words) REQUIRES(mutex_);
  void look_at_sound() REQUIRES(mutex_);
  void tick_locked() REQUIRES(mutex_);
  /// What counts of the words of the turn under way.
  std::string counted(const std::string& words) REQUIRES(mutex_);
  void end_turn(const std::string& words, bool is_meant = false) REQUIRES(mutex_);

  const Options options_;
  ConversationListener& listener_;
  Clock& clock_;
  const std::stop_token stop_;
  TranscriptQueue queue_;  // thread-safe

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  TurnTaking taking_ GUARDED_BY(mutex_);
  std::optional<Wake> wake_ GUARDED_BY(mutex_);
  bool was_awake_ GUARDED_BY(mutex_) = false;    // as was told
  bool has_counted_ GUARDED_BY(mutex_) = false;  // words of the turn under way count
  AnswerSound sound_ GUARDED_BY(mutex_);
  FirstWords first_words_ GUARDED_BY(mutex_);  // for who asks himself
  AskedTurns turns_ GUARDED_BY(mutex_);
  EndOfTurn end_ GUARDED_BY(mutex_);
  SoundStart start_ GUARDED_BY(mutex_);
  Seconds sound_length_ GUARDED_BY(mutex_){0};        // that has arrived
  bool is_speaking_ GUARDED_BY(mutex_) = false;       // a turn is under way
  std::optional<Seconds> paused_ GUARDED_BY(mutex_);  // when the voice did, if no words came since
  bool has_ended_ GUARDED_BY(mutex_) = false;
  std::string lost_ GUARDED_BY(mutex_);  // why something was lost last
  int64_t num_lost_ GUARDED_BY(mutex_) = 0;
  bool has_changed_ GUARDED_BY(mutex_) = true;
  bool is_blocked_ GUARDED_BY(mutex_) = false;
  Seconds begun_{0};  // the last turn; the answering side's
  std::stop_source turn_ GUARDED_BY(mutex_);
  std::stop_callback<std::function<void()>> on_stop_;
  std::optional<TurnRecogniser> recogniser_;  // last: its threads use the others
};

}  // namespace predgen
