#pragma once

#include <functional>
#include <memory>
#include <span>

#include "audio/audio_sink.h"
#include "core/clock.h"
#include "runtime/engine/baton.h"
#include "runtime/speech/speaker.h"
#include "voice/ahead_buffer.h"
#include "voice/speech_synthesizer.h"

namespace predgen {

/// The voice of a session that shares an engine: waiting for sound gives up the baton. Voices can
/// change, and be silent, between turns. Borrows what the constructor names.
class RestingSpeaker : public Speaker {
 public:
  /// `on_samples` gets the sound at `sample_rate` (Hz), whatever the voice's rate, in a thread of
  /// the voice; it must not block.
  RestingSpeaker(Baton& baton, Clock& clock, const AheadBuffer& ahead, int sample_rate,
                 std::function<void(std::span<const float>)> on_samples);
  ~RestingSpeaker() override;  // call with the baton held

  /// Takes the voice, unless it throws: then there is none until this is tried again.
  void use(std::unique_ptr<SpeechSynthesizer>& voice);
  void set_silent(bool is_silent) { is_silent_ = is_silent; }

  void prepare(const std::string& sentence) override;
  bool is_ready_ahead() const override;
  void say(const std::string& sentence) override;
  void give_way(bool urgent) override;
  SpeechReport finish_turn(const std::stop_token& stop = {}) override;
  void cancel_turn() override;
  std::optional<SpokenAnswer> spoken() const override;

 private:
  bool speaks() const { return speaker_ && !is_silent_; }

  Baton& baton_;
  Clock& clock_;
  const AheadBuffer ahead_;
  const int sample_rate_;
  const std::function<void(std::span<const float>)> on_samples_;
  bool is_silent_ = true;
  std::unique_ptr<SpeechSynthesizer> voice_;
  std::unique_ptr<AudioSink> sink_;
  std::unique_ptr<Speaker> speaker_;  // last: it uses both
};

}  // namespace predgen
