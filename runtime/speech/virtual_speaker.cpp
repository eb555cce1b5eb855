#include "runtime/speech/virtual_speaker.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "runtime/speech/speech_text.h"

namespace predgen {

VirtualSpeaker::VirtualSpeaker(VirtualClock& clock, Options options)
    : clock_(clock), options_(std::move(options)) {
  if (!options_.cost && options_.synthesizer == nullptr) {
    throw UserError("speech on the virtual clock needs a cost table or a voice");
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
  if (speakable_text(sentence).empty()) return;
  prepared_ = synthesise(sentence);
  ++report_.prepared;
}

void VirtualSpeaker::say(const std::string& sentence) {
  ++report_.sentences;
  const bool kept = prepared_ && prepared_->text == sentence;
  if (!kept) cancel_prepared();
  Utterance utterance = kept ? std::move(*prepared_) : synthesise(sentence);
  prepared_.reset();
  said_end_ = utterance.end;
  if (utterance.chunks.empty()) return;
  const Seconds ready = utterance.chunks.front();
  if (kept && !report_.ready_ahead) report_.ready_ahead = ready;
  if (!report_.first_audio) report_.first_audio = std::max(clock_.now(), ready);
  if (options_.sink == nullptr) return;
  if (options_.cost && options_.synthesizer != nullptr) run_voice(utterance);
  const Seconds before = options_.stopwatch();
  options_.sink->write(utterance.samples);
  clock_.exclude(options_.stopwatch() - before);
}

SpeechReport VirtualSpeaker::finish_turn() {
  cancel_prepared();
  clock_.sleep_until(said_end_);
  return std::exchange(report_, {});
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
    const auto chunk = std::ranges::lower_bound(cancelled.chunks, now);
    free_ = chunk == cancelled.chunks.end() ? std::min(now, cancelled.end) : *chunk;
  }
}

VirtualSpeaker::Utterance VirtualSpeaker::synthesise(const std::string& sentence) {
  Utterance utterance{.text = sentence, .free_before = free_};
  utterance.start = std::max(clock_.now(), free_);
  utterance.end = utterance.start;
  const std::string spoken = speakable_text(sentence);
  if (spoken.empty()) return utterance;
  if (options_.cost) {
    utterance.chunks = {utterance.start + options_.cost->to_first_audio};
    utterance.end = utterance.chunks.front() +
                    options_.cost->per_character * static_cast<double>(count_characters(spoken));
  } else {
    run_voice(utterance);
  }
  free_ = utterance.end;
  return utterance;
}

void VirtualSpeaker::run_voice(Utterance& utterance) {
  const Seconds before = options_.stopwatch();
  const auto elapsed = [&] { return options_.stopwatch() - before; };
  options_.synthesizer->synthesize(utterance.text, [&](std::span<const float> samples) {
    if (!options_.cost) utterance.chunks.push_back(utterance.start + elapsed());
    utterance.samples.insert(utterance.samples.end(), samples.begin(), samples.end());
    return true;
  });
  const Seconds total = elapsed();
  if (!options_.cost) utterance.end = utterance.start + total;
  clock_.exclude(total);
}

}  // namespace predgen
