#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/mutex.h"
#include "runtime/listen/recogniser.h"
#include "runtime/speech/resampling_sink.h"
#include "serve/api_error.h"
#include "serve/realtime/turn_detection.h"

namespace predgen::serve {

/// A turn that was spoken.
struct SpokenTurn {
  std::string item, text;               // the text is empty where nothing was understood
  double seconds = 0;                   // of its sound
  std::optional<int64_t> stopped_at{};  // ms of all sound; nothing: its beginning was not told
  bool was_committed = false;           // the client has said where it ends
  bool responds = false;
};

/// Who is told what became of sound. Called by any thread, one call after the other.
class SpeechListener {
 public:
  virtual ~SpeechListener() = default;

  /// First words. `milliseconds`: of all sound so far.
  virtual void on_speech(const std::string& item, int64_t milliseconds, bool interrupts) = 0;
  /// All words of the turn so far.
  virtual void on_words(const std::string& words) = 0;
  virtual void on_turn(const SpokenTurn& turn) = 0;
  /// The turn under way is lost, with those that were committed.
  virtual void on_lost(const ApiError& error) = 0;
};

/// The input_audio_buffer of a conversation: its sound goes to a recogniser, and turns come out.
/// A turn ends where the client says so, or where the recogniser finds a pause. Thread-safe.
class SoundIn : public RecogniserHandler {
 public:
  /// The recogniser is made with the first sound. Borrows all; the listener must not hold its
  /// lock while it calls this.
  SoundIn(const MakeRecogniser& make_recogniser, Clock& clock, SpeechListener& listener);
  ~SoundIn() override;

  void detect_turns(const TurnDetection& detection);
  /// PCM16 at kRealtimeRate in base64. ApiError for what is none.
  void append(const std::string& base64);
  /// SpeechListener::on_turn() follows. ApiError if there is no sound, or it was lost.
  void commit();
  /// Forgets the turn under way.
  void clear();

  void on_segment(int64_t utterance, const RecognisedSegment& segment) override;
  void on_end(int64_t utterance) override;
  void on_failure(const std::string& why) override;

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
    SpokenTurn turn;
  };

  void take(std::span<const float> samples) REQUIRES(mutex_);
  /// Whether sound is not listened to because the recogniser has failed.
  bool is_deaf(size_t num_samples) REQUIRES(mutex_);
  void lose(const ApiError& error) REQUIRES(mutex_);
  void begin_turn() REQUIRES(mutex_);
  void end_turn_after_silence() REQUIRES(mutex_);
  int64_t milliseconds() const REQUIRES(mutex_);
  SpokenTurn spoken() const REQUIRES(mutex_);

  const MakeRecogniser& make_recogniser_;
  Clock& clock_;
  SpeechListener& listener_;

  Mutex mutex_;
  TurnDetection detection_ GUARDED_BY(mutex_);
  std::vector<float> resampled_ GUARDED_BY(mutex_);  // not passed on yet
  ResamplingSink resampler_ GUARDED_BY(mutex_);
  int64_t utterance_ GUARDED_BY(mutex_) = 0;       // that the recogniser is getting
  std::deque<Commit> commits_ GUARDED_BY(mutex_);  // whose ends have not come back yet
  Words words_ GUARDED_BY(mutex_);                 // of the first commit; without one of utterance_
  std::string item_ GUARDED_BY(mutex_);            // of the turn, if its beginning was told
  int64_t num_samples_ GUARDED_BY(mutex_) = 0;     // at kRealtimeRate, of all sound
  int64_t turn_begin_ GUARDED_BY(mutex_) = 0;      // of num_samples_
  int64_t words_changed_ GUARDED_BY(mutex_) = 0;   // of num_samples_
  std::optional<Seconds> lost_ GUARDED_BY(mutex_);  // when the turn was; nothing: it was not
  std::unique_ptr<Recogniser> recogniser_ GUARDED_BY(mutex_);  // last: its thread calls this
};

}  // namespace predgen::serve
