#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "audio/audio_sink.h"
#include "core/mutex.h"
#include "runtime/speech/speaker.h"
#include "voice/voice.h"

namespace predgen {

/// Speaks in real time: one thread synthesises, step by step, one feeds the sink, so a prepared
/// buffer is played at once while its sentence's synthesis resumes where it stopped. A changed
/// sentence is cancelled within one step. Once a voice or sink fails, the rest of that turn is
/// silent and its report says why. A stop ends the wait in finish_turn(), which throws Interrupted.
/// Borrows everything; the clock must be thread-safe.
class ThreadedSpeaker : public Speaker {
 public:
  ThreadedSpeaker(SpeechSynthesizer& synthesizer, AudioSink& sink, const Clock& clock,
                  const AheadBuffer& ahead, std::stop_token stop);
  /// Drops what is not in the sink: finish_turn() first.
  ~ThreadedSpeaker() override = default;

  void prepare(const std::string& sentence) override;
  bool is_ready_ahead() const override;
  void say(const std::string& sentence) override;
  void give_way(bool urgent) override;
  SpeechReport finish_turn(const std::stop_token& stop = {}) override;
  void cancel_turn() override;
  std::optional<SpokenAnswer> spoken() const override;

 private:
  struct Utterance {
    std::string text, spoken;
    bool prepared = false;  // synthesis was asked for before it was said
    bool said = false, cancelled = false;
    size_t place = 0;                        // in track_, once it is said
    int64_t num_steps = 0;                   // of its synthesis
    int64_t num_samples = 0;                 // of it that were made
    bool finished = false;                   // its synthesis
    std::vector<float> samples{};            // synthesised and not yet in the sink
    std::optional<Seconds> ready{};          // when the first samples were made
    std::unique_ptr<Synthesis> synthesis{};  // the synthesis thread's alone
  };

  // Each runs until `end`.
  void run_synthesis(const std::stop_token& end);
  void run_playback(const std::stop_token& end);
  bool wants_step(const Utterance& utterance) const REQUIRES(mutex_);
  /// One step, without mutex_; takes its samples.
  void advance(Utterance& utterance);
  /// Null: `sentence` is not prepared.
  std::shared_ptr<Utterance> prepared(const std::string& sentence) const;
  void note_sound(const Utterance& utterance, int64_t num_samples) REQUIRES(mutex_);
  void cancel_prepared() REQUIRES(mutex_);
  void report_failure(const char* what, const std::exception& error) REQUIRES(mutex_);

  SpeechSynthesizer& synthesizer_;
  AudioSink& sink_;
  const Clock& clock_;
  const AheadBuffer ahead_;
  const std::stop_token stop_;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  // Said sentences in order, then the prepared one, also in prepared_ (null: none).
  std::deque<std::shared_ptr<Utterance>> queue_ GUARDED_BY(mutex_);
  std::shared_ptr<Utterance> prepared_ GUARDED_BY(mutex_);
  // For the synthesis thread to destroy.
  std::vector<std::shared_ptr<Utterance>> cancelled_ GUARDED_BY(mutex_);
  SpeechReport report_ GUARDED_BY(mutex_);
  SpokenTrack track_ GUARDED_BY(mutex_);
  int64_t num_underruns_ GUARDED_BY(mutex_) = 0;  // of the sink, up to the last turn
  bool gives_way_ GUARDED_BY(mutex_) = false;
  bool writes_ GUARDED_BY(mutex_) = false;  // the playback thread is in the sink
  bool failed_ GUARDED_BY(mutex_) = false;  // this turn goes on without sound

  // Last: they use the members above. If the second one cannot start, the first one ends.
  std::jthread synthesis_, playback_;
};

}  // namespace predgen
