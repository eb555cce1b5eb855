#include "runtime/speech/resting_speaker.h"

#include <utility>

#include "audio/calling_sink.h"
#include "audio/resampling_sink.h"
#include "runtime/speech/make_speaker.h"

namespace predgen {

RestingSpeaker::RestingSpeaker(Baton& baton, Clock& clock, const AheadBuffer& ahead,
                               int sample_rate,
                               std::function<void(std::span<const float>)> on_samples)
    : baton_(baton),
      clock_(clock),
      ahead_(ahead),
      sample_rate_(sample_rate),
      on_samples_(std::move(on_samples)) {}

RestingSpeaker::~RestingSpeaker() {
  const Baton::Rest rest(baton_);  // the voice may be in the middle of a step
  speaker_.reset();
}

void RestingSpeaker::use(std::unique_ptr<SpeechSynthesizer>& voice) {
  const Baton::Rest rest(baton_);  // the old one may be in the middle of a step
  speaker_.reset();
  sink_ = std::make_unique<CallingSink>(on_samples_);
  const int rate = voice->sample_rate();
  if (rate != sample_rate_) {
    sink_ = std::make_unique<ResamplingSink>(std::move(sink_), rate, sample_rate_);
  }
  speaker_ = make_speaker(clock_, {.voice = voice.get(), .sink = sink_.get(), .ahead = ahead_},
                          std::stop_token());
  voice_ = std::move(voice);
}

void RestingSpeaker::prepare(const std::string& sentence) {
  if (speaks()) speaker_->prepare(sentence);
}

bool RestingSpeaker::is_ready_ahead() const { return speaks() && speaker_->is_ready_ahead(); }

void RestingSpeaker::say(const std::string& sentence) {
  if (speaks()) speaker_->say(sentence);
}

void RestingSpeaker::give_way(bool urgent) {
  if (speaks()) speaker_->give_way(urgent);
}

SpeechReport RestingSpeaker::finish_turn(const std::stop_token& stop) {
  if (!speaks()) return {};
  const Baton::Rest rest(baton_);
  SpeechReport report = speaker_->finish_turn(stop);
  sink_->drain();
  return report;
}

void RestingSpeaker::cancel_turn() {
  if (speaks()) speaker_->cancel_turn();
}

std::optional<SpokenAnswer> RestingSpeaker::spoken() const {
  return speaks() ? speaker_->spoken() : std::nullopt;
}

}  // namespace predgen
