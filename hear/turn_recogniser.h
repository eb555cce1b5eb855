#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "audio/resampler.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mutex.h"
#include "hear/recogniser.h"
#include "hear/turn_taking.h"

namespace predgen {

/// The end of an utterance's sound, at kRecogniserRate: the next utterance may begin in it.
class RecentSound {
 public:
  static constexpr int64_t kMost = kRecogniserRate / 2;  // samples that are kept

  void add(std::span<const float> samples) {
    num_samples_ += std::ssize(samples);
    kept_.insert(kept_.end(), samples.begin(), samples.end());
    kept_.erase(kept_.begin(), kept_.end() - std::min(std::ssize(kept_), kMost));
  }
  /// Another utterance begins.
  void clear() {
    num_samples_ = 0;
    kept_.clear();
  }

  /// What was added after the first `num_samples`, as far as it is kept.
  std::vector<float> after(int64_t num_samples) const {
    const int64_t count = std::clamp<int64_t>(num_samples_ - num_samples, 0, std::ssize(kept_));
    return {kept_.end() - count, kept_.end()};
  }

 private:
  int64_t num_samples_ = 0;
  std::vector<float> kept_;
};

/// A turn that was spoken.
struct RecognisedTurn {
  int64_t number = 0;                   // rises from turn to turn
  std::string text{};                   // empty where nothing was understood
  double seconds = 0;                   // of its sound
  std::optional<int64_t> stopped_at{};  // ms of all sound; nullopt: its beginning was not told
  bool was_committed = false;           // the sender of the sound marked its end
};

/// Why sound is refused.
class SoundError : public Error {
 public:
  enum class Kind { kTurnTooLong, kTurnTooShort, kTooManyTurns, kLost };
  SoundError(Kind kind, const std::string& message) : Error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// Is told what was recognised. Called by any thread, one call at a time.
class RecognisedTurnHandler {
 public:
  virtual ~RecognisedTurnHandler() = default;

  /// First words of turn `number`, where its end is detected. `milliseconds`: of all sound so far.
  virtual void on_speech(int64_t number, int64_t milliseconds) = 0;
  /// All words of the turn so far.
  virtual void on_words(const std::string& words) = 0;
  virtual void on_turn(const RecognisedTurn& turn) = 0;
  /// The turn in progress is lost, with those that were committed. Known words of the first of them
  /// are a turn before that, unless the sender of the sound has yet to commit it.
  virtual void on_lost(const SoundError& why) = 0;
};

/// The user's voice activity, if a recogniser reports it: with words or before there are any.
struct UserVoice {
  bool is_active = false;
  int64_t since_ms = 0, until_ms = 0;  // of all sound; of the current speech, else of the last
};

/// Sends one user's sound to a recogniser and forms turns from the result. A turn ends where the
/// sender of the sound says so, or where the recogniser finds a pause. Thread-safe.
class TurnRecogniser : private RecogniserHandler {
 public:
  /// `sample_rate`: of what add() gets, in Hz. The recogniser is made with the first sound. Borrows
  /// the others; the handler must not hold its lock while it calls this.
  TurnRecogniser(const MakeRecogniser& make_recogniser, int sample_rate, Clock& clock,
                 RecognisedTurnHandler& handler);
  ~TurnRecogniser() override;

  void set_end(const EndOfTurn& end);
  /// `on_voice` is called when the voice begins or pauses, as the handler's functions are.
  void set_on_voice(std::function<void(const UserVoice&)> on_voice);
  /// `on_pause` is called when an unfinished turn has paused for kStablePause, with all its words,
  /// once for the same words, as the handler's functions are.
  void set_on_pause(std::function<void(const std::string& words)> on_pause);
  /// The probability, by the words alone, that a turn with exactly these `words` is over. Marks and
  /// case do not matter. With EndOfTurn::by_words a turn does not end before this was called, or
  /// was not called for a while.
  void expect_end(const std::string& words, double probability);
  /// Mono, in [-1,1]. SoundError: they were not taken.
  void add(std::span<const float> samples);
  /// The turn ends here; RecognisedTurnHandler::on_turn() follows. SoundError if there is no sound,
  /// or it was lost.
  void commit();
  /// Forgets the turn in progress.
  void clear();

 private:
  /// What was heard of a turn so far.
  struct Words {
    std::string past{};  // segments that are over
    std::string now{};   // the one under way
    int64_t number = 0;
    bool has_paused = false;
    void end_segment();
    std::string all() const;
  };
  struct Commit {
    int64_t utterance;
    RecognisedTurn turn;
  };

  void on_segment(int64_t utterance, const RecognisedSegment& segment) override;
  void on_end(int64_t utterance) override;
  void on_failure(const std::string& why) override;

  void take(std::span<const float> samples) REQUIRES(mutex_);
  /// Passes the resampled sound on to the recogniser. False: it is too slow.
  bool pass_on() REQUIRES(mutex_);
  /// Whether sound is ignored because the recogniser has failed.
  bool is_deaf(size_t num_samples) REQUIRES(mutex_);
  void lose(const SoundError& why) REQUIRES(mutex_);
  void begin_turn() REQUIRES(mutex_);
  void end_turn_after_silence() REQUIRES(mutex_);
  bool is_turn_over() const REQUIRES(mutex_);
  void tell_pause() REQUIRES(mutex_);
  /// Sound that begins now is the next utterance's, after `before`, which was the last one's.
  void begin_utterance(std::vector<float> before = {}) REQUIRES(mutex_);
  void take_voice(const std::optional<HeardVoice>& voice) REQUIRES(mutex_);
  /// The place of an utterance's sample, in ms of all sound.
  int64_t place_of(int64_t sample) const REQUIRES(mutex_);
  /// How long the voice has paused, by the sound that the recogniser has heard.
  int64_t pause_ms() const REQUIRES(mutex_);
  int64_t milliseconds(int64_t num_samples) const { return num_samples * 1000 / sample_rate_; }
  RecognisedTurn spoken() const REQUIRES(mutex_);

  const MakeRecogniser& make_recogniser_;
  const int64_t sample_rate_;
  Clock& clock_;
  RecognisedTurnHandler& handler_;

  Mutex mutex_;
  EndOfTurn end_ GUARDED_BY(mutex_);
  std::function<void(const UserVoice&)> on_voice_ GUARDED_BY(mutex_);
  std::function<void(const std::string&)> on_pause_ GUARDED_BY(mutex_);
  std::string paused_words_ GUARDED_BY(mutex_);      // that on_pause_ was told last of this turn
  std::vector<float> resampled_ GUARDED_BY(mutex_);  // not passed on yet
  RecentSound passed_ GUARDED_BY(mutex_);            // of utterance_, passed on
  Resampler resampler_ GUARDED_BY(mutex_);
  int64_t utterance_ GUARDED_BY(mutex_) = 0;            // that the recogniser is getting
  int64_t utterance_begin_ GUARDED_BY(mutex_) = 0;      // of num_samples_
  std::optional<HeardVoice> voice_ GUARDED_BY(mutex_);  // in utterance_; nullopt: none was told
  /// From expect_end(), for this turn: bare_words() and their probability, newest first. Several,
  /// because recognisers take words back.
  std::deque<std::pair<std::string, double>> expected_ GUARDED_BY(mutex_);
  int64_t turn_ GUARDED_BY(mutex_) = 0;            // number of the current one
  bool is_begun_ GUARDED_BY(mutex_) = false;       // its beginning was told
  std::deque<Commit> commits_ GUARDED_BY(mutex_);  // whose ends have not come back yet
  Words words_ GUARDED_BY(mutex_);                 // of the first commit; if none is, of utterance_
  int64_t num_samples_ GUARDED_BY(mutex_) = 0;     // of all sound
  int64_t turn_begin_ GUARDED_BY(mutex_) = 0;      // of num_samples_
  int64_t words_changed_ GUARDED_BY(mutex_) = 0;   // of num_samples_
  std::optional<Seconds> lost_ GUARDED_BY(mutex_);  // when the turn was; nullopt: it was not
  std::unique_ptr<Recogniser> recogniser_ GUARDED_BY(mutex_);  // last: its thread calls this
};

}  // namespace predgen
