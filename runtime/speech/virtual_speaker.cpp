#include "runtime/speech/virtual_speaker.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"
#include "text/spoken/speech_text.h"

namespace predgen {

VirtualSpeaker::VirtualSpeaker(VirtualClock& clock, Options options, std::stop_token stop)
    : clock_(clock), options_(std::move(options)), stop_(std::move(stop)) {
  if (!options_.cost && options_.synthesizer == nullptr) {
    throw UserError("speech on the virtual clock needs a cost table or a voice");
  }
  if (options_.sink && options_.synthesizer) {
    track_.emplace(*options_.sink, options_.synthesizer->sample_rate());
  }
  if (!options_.stopwatch) {
    options_.stopwatch = [] {
      return Seconds(std::chrono::steady_clock::now().time_since_epoch());
    };
  }
}

void VirtualSpeaker::prepare(const std::string& sentence) {
  if (prepared_ && prepared_->text == sentence) return;
  cancel_prepared();
  Utterance utterance = synthesise(sentence, /*ahead=*/true);
  if (utterance.spoken.empty()) return;
  prepared_ = std::move(utterance);
  ++report_.prepared;
}

void VirtualSpeaker::say(const std::string& sentence) {
  ++report_.sentences;
  const Seconds said = clock_.now();
  const bool kept = prepared_ && prepared_->text == sentence;
  if (!kept) cancel_prepared();
  Utterance utterance = kept ? std::move(*prepared_) : synthesise(sentence, /*ahead=*/false);
  prepared_.reset();
  if (utterance.synthesis) {  // it stopped when enough was made
    utterance.end = std::max(clock_.now(), utterance.end);
    run_voice(utterance, /*ahead=*/false);
  }
  said_end_ = utterance.end;
  const size_t place = track_ ? track_->say(sentence) : 0;
  if (track_ && !utterance.first_audio) track_->finish(place);
  if (!utterance.first_audio) return;
  const Seconds ready = *utterance.first_audio;
  if (kept && !report_.ready_ahead) report_.ready_ahead = ready;
  if (!report_.first_audio) report_.first_audio = std::max(said, ready);
  if (options_.sink == nullptr) return;
  if (options_.cost && options_.synthesizer != nullptr) run_voice(utterance, /*ahead=*/false);
  if (track_) {
    track_->add_sound(place, std::ssize(utterance.samples));
    track_->finish(place);
    track_->will_write(std::ssize(utterance.samples));
  }
  const Seconds before = options_.stopwatch();
  try {
    options_.sink->write(utterance.samples);
  } catch (...) {
    if (track_) track_->cleared();  // nothing of it was taken
    throw;
  }
  clock_.exclude(options_.stopwatch() - before);
}

SpeechReport VirtualSpeaker::finish_turn(const std::stop_token&) {
  cancel_prepared();
  clock_.sleep_until(said_end_);
  if (track_) track_->end_answer();
  return std::exchange(report_, {});
}

void VirtualSpeaker::cancel_turn() {
  cancel_prepared();
  free_ = said_end_ = std::min(free_, clock_.now());
  report_ = {};
  if (options_.sink) options_.sink->clear();
  if (!track_) return;
  track_->cleared();
  track_->end_answer();
}

std::optional<SpokenAnswer> VirtualSpeaker::spoken() const {
  return track_ ? std::optional(track_->answer()) : std::nullopt;
}

void VirtualSpeaker::cancel_prepared() {
  if (!prepared_) return;
  const Utterance cancelled = std::move(*prepared_);
  prepared_.reset();
  const Seconds now = clock_.now();
  if (now < cancelled.start) {
    free_ = cancelled.free_before;
    --report_.prepared;
  } else if (options_.cost) {
    free_ = std::min(now, cancelled.end);
  } else {
    const auto step = std::ranges::lower_bound(cancelled.steps, now);
    free_ = step == cancelled.steps.end() ? cancelled.end : *step;
  }
}

VirtualSpeaker::Utterance VirtualSpeaker::synthesise(const std::string& sentence, bool ahead) {
  const std::string language = options_.synthesizer ? options_.synthesizer->language() : "en";
  Utterance utterance{
      .text = sentence, .spoken = speakable_text(sentence, language), .free_before = free_};
  utterance.start = std::max(clock_.now(), free_);
  utterance.end = utterance.start;
  if (utterance.spoken.empty()) return utterance;
  if (options_.cost) {
    utterance.first_audio = utterance.start + options_.cost->to_first_audio;
    utterance.end =
        *utterance.first_audio +
        options_.cost->per_character * static_cast<double>(count_characters(utterance.spoken));
    free_ = utterance.end;
    if (options_.same_device) clock_.sleep_until(free_);
  } else {
    run_voice(utterance, ahead);
  }
  return utterance;
}

void VirtualSpeaker::exclude(Seconds elapsed) {
  if (!options_.same_device) clock_.exclude(elapsed);
}

void VirtualSpeaker::run_voice(Utterance& utterance, bool ahead) {
  const Seconds before = options_.stopwatch(), from = utterance.end;
  const auto elapsed = [&] { return options_.stopwatch() - before; };
  if (!utterance.synthesis) utterance.synthesis = options_.synthesizer->begin(utterance.spoken);
  const auto is_enough = [&] {
    return ahead &&
           options_.ahead.is_full(static_cast<int64_t>(utterance.steps.size()),
                                  utterance.samples.size(), options_.synthesizer->sample_rate());
  };
  while (utterance.synthesis && !is_enough()) {
    throw_if_stopped(stop_);
    if (!utterance.synthesis->advance(utterance.samples)) utterance.synthesis.reset();
    if (options_.cost) continue;
    utterance.end = from + elapsed();
    utterance.steps.push_back(utterance.end);
    if (!utterance.first_audio && !utterance.samples.empty()) utterance.first_audio = utterance.end;
  }
  exclude(elapsed());
  if (!options_.cost) free_ = utterance.end;
}

}  // namespace predgen
