#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "audio/audio_sink.h"
#include "runtime/speech/speaker.h"
#include "voice/voice.h"

namespace predgen {

/// What speech costs in a deterministic run.
struct SpeechCost {
  Seconds to_first_audio{0};  // of every sentence
  Seconds per_character{0};   // from there to the sentence's end
};

/// A Speaker on a virtual clock: no threads, and synthesis has a timeline of its own beside the
/// language model's. A sentence asked for at t starts at max(t, end of the one before); its first
/// audio is ready `time to first audio` later. With a cost table these times are taken from it and
/// a cancelled sentence frees the timeline at once; otherwise synthesis runs at once, its wall time
/// is taken out of the clock, a sentence not yet said is synthesised only as far as `ahead`, and a
/// cancelled one still finishes the step under way. On the same device as the model there is one
/// timeline for both: what is asked for first is done first, so the clock moves to the end of each
/// synthesis before the model goes on. A voice that fails throws: measurements must not go on
/// without it. A stop ends synthesis at its next step: say() and prepare() throw Interrupted.
class VirtualSpeaker : public Speaker {
 public:
  struct Options {
    std::optional<SpeechCost> cost{};          // empty: measured
    SpeechSynthesizer* synthesizer = nullptr;  // borrowed; may be null with a cost table
    AudioSink* sink = nullptr;  // borrowed; gets the audio of what was said, if there is a voice
    AheadBuffer ahead{};
    bool same_device = false;
    std::function<Seconds()> stopwatch{};  // wall time; empty: the steady clock
  };
  /// UserError if there is neither a cost table nor a voice.
  VirtualSpeaker(VirtualClock& clock, Options options, std::stop_token stop);

  void prepare(const std::string& sentence) override;
  /// Always false: there is no "now" between the moments of a timeline.
  bool is_ready_ahead() const override { return false; }
  void say(const std::string& sentence) override;
  /// Does nothing: synthesis has its cost, or runs beside the clock.
  void give_way(bool) override {}
  /// Moves the clock to the end of what was said, as the real speaker waits.
  SpeechReport finish_turn(const std::stop_token& stop = {}) override;
  void cancel_turn() override;
  /// nullopt without a sink: a cost makes no sound.
  std::optional<SpokenAnswer> spoken() const override;

 private:
  struct Utterance {
    std::string text, spoken;
    Seconds free_before{0};    // the timeline's end without this sentence
    Seconds start{0}, end{0};  // of its synthesis, as far as it went
    std::optional<Seconds> first_audio{};
    std::vector<Seconds> steps{};  // when each ended; measured runs
    std::vector<float> samples{};
    std::unique_ptr<Synthesis> synthesis{};  // null: not begun, or complete
  };
  Utterance synthesise(const std::string& sentence, bool ahead);
  /// Continues the synthesis from utterance.end: to the sentence's end, or only `ahead`.
  void run_voice(Utterance& utterance, bool ahead);
  /// Takes out of the clock wall time that the model did not wait for.
  void exclude(Seconds elapsed);
  void cancel_prepared();

  VirtualClock& clock_;
  Options options_;
  const std::stop_token stop_;
  Seconds free_{0};  // when the synthesis timeline is free
  Seconds said_end_{0};
  std::optional<Utterance> prepared_;
  std::optional<SpokenTrack> track_;  // with a sink and a voice
  SpeechReport report_;
};

}  // namespace predgen
