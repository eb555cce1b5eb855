#include "hear/spoken_turns.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/stop.h"

namespace predgen {
namespace {

constexpr Seconds kBlock{0.02};
/// Silence after the sound, beyond the longest wait: a recogniser needs time for its last words.
constexpr Seconds kGrace{2.0}, kLate{15.0};

}  // namespace

SpokenTurns::SpokenTurns(const MakeRecogniser& make_recogniser, AudioSource& audio,
                         const Options& options, Clock& clock, const std::stop_token& stop)
    : UserTurns(options.rules, options.answers, clock, stop),
      audio_(audio),
      options_(options),
      clock_(clock),
      stop_(stop),
      recogniser_(make_recogniser, audio.sample_rate(), clock, *this) {
  recogniser_.set_end(options.end);
  recogniser_.set_on_voice([this](const UserVoice& voice) { hear_voice(voice); });
  if (options.tells_pauses) {
    recogniser_.set_on_pause([this](const std::string& words) { on_pause(words); });
  }
  thread_ = std::jthread([this](const std::stop_token& destroyed) {
    std::exception_ptr failure;
    try {
      try {
        listen(destroyed);
      } catch (const UserError&) {  // a microphone that is gone
        failure = std::current_exception();
      }
      end_sound(audio_.sample_rate(), destroyed);
    } catch (...) {
      failure = std::current_exception();
    }
    end(std::move(failure));
  });
}

SpokenTurns::~SpokenTurns() = default;

void SpokenTurns::hear_voice(const UserVoice& voice) {
  std::optional<Seconds> begin;
  {
    const Lock lock(mutex_);
    begin = start_.get();
  }
  on_voice(voice.is_active,
           begin.value_or(clock_.now()) + Seconds(static_cast<double>(voice.until_ms) / 1000));
}

void SpokenTurns::listen(const std::stop_token& destroyed) {
  std::vector<float> silence;
  Seconds length{0};
  while (true) {
    const std::span<const float> block = audio_.read();
    throw_if_stopped(destroyed);
    if (block.empty()) break;
    {
      const Lock lock(mutex_);
      length += Seconds(static_cast<double>(block.size()) / audio_.sample_rate());
      start_.note(length, clock_.now());
    }
    // If the microphone hears the assistant, its sound is ignored.
    if (options_.while_speaking == WhileSpeaking::kNotHeard && is_answering()) {
      silence.assign(block.size(), 0.0f);  // so that time goes on
      recogniser_.add(silence);
    } else {
      recogniser_.add(block);
    }
    tick();
  }
}

void SpokenTurns::end_sound(int sample_rate, const std::stop_token& destroyed) {
  const auto block = static_cast<size_t>(kBlock.count() * sample_rate);
  const std::vector<float> silence(block, 0.0f);
  AudioPace pace(sample_rate, clock_);
  const int64_t wait_ms =
      options_.end.waits ? options_.end.waits->longest_ms : options_.end.silence_ms;
  const Seconds longest = Seconds(static_cast<double>(wait_ms) / 1000) + kGrace;
  bool was_committed = false;
  for (Seconds added{0}; added < longest + kLate; added += kBlock) {
    pace.wait_for(block);
    throw_if_stopped(destroyed);
    throw_if_stopped(stop_);
    if (added < longest) {
      recogniser_.add(silence);
    } else if (!is_speaking()) {
      return;
    } else if (!std::exchange(was_committed, true)) {
      recogniser_.commit();
    }
    tick();
    if (is_over()) return;
  }
}

}  // namespace predgen
