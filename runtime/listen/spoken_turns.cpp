#include "runtime/listen/spoken_turns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"

namespace predgen {
namespace {

constexpr std::array<std::string_view, 16> kBackchannels{
    "ah", "aha", "hm",   "hmm",   "huh", "mhm",   "mm", "mmhm",
    "oh", "ok",  "okay", "right", "uh",  "uhhuh", "um", "yeah"};
constexpr Seconds kBlock{0.02};
/// Of silence behind the sound beyond the longest wait: a recogniser needs time for its last words.
constexpr Seconds kGrace{2.0};

}  // namespace

bool is_backchannel(const std::string& words) {
  std::string word;
  const auto ends = [&] {
    const bool is_one =
        word.empty() || std::ranges::find(kBackchannels, word) != kBackchannels.end();
    word.clear();
    return is_one;
  };
  for (const char c : words) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      return false;  // of another script
    } else if (c != '-' && !ends()) {
      return false;
    }
  }
  return ends();
}

SpokenTurns::SpokenTurns(const MakeRecogniser& make_recogniser, AudioSource& audio,
                         const EndOfTurn& end, WhileSpeaking while_speaking, Clock& clock,
                         const std::stop_token& stop)
    : audio_(audio),
      end_(end),
      while_speaking_(while_speaking),
      clock_(clock),
      stop_(stop),
      queue_(clock),
      on_stop_(stop,
               [this] {
                 const Lock lock(mutex_);
                 turn_.request_stop();
               }),
      recogniser_(make_recogniser, audio.sample_rate(), clock, *this) {
  recogniser_.set_end(end);
  recogniser_.set_on_voice([this](const UserVoice& voice) { on_voice(voice); });
  thread_ = std::jthread([this](const std::stop_token& destroyed) {
    try {
      listen(destroyed);
      queue_.end();
    } catch (...) {
      queue_.end(std::current_exception());
    }
  });
}

SpokenTurns::~SpokenTurns() = default;

std::stop_token SpokenTurns::begin_turn() {
  const Lock lock(mutex_);
  is_answering_ = false;
  turn_ = {};
  if (stop_.stop_requested()) turn_.request_stop();
  return turn_.get_token();
}

SpokenTimes SpokenTurns::times() const {
  const Lock lock(mutex_);
  return taken_;
}

std::optional<Transcript> SpokenTurns::wait_newer(int64_t revision, Clock&) {
  const std::optional<Transcript> newest = queue_.take(revision, stop_);
  const Lock lock(mutex_);
  if (newest && newest->is_final) {
    taken_ = untaken_.front();
    untaken_.pop_front();
    is_answering_ = true;
  }
  return newest;
}

bool SpokenTurns::is_deaf() const {
  const Lock lock(mutex_);
  return is_answering_ && while_speaking_ == WhileSpeaking::kNotHeard;
}

void SpokenTurns::add(std::span<const float> samples) {
  try {
    recogniser_.add(samples);
  } catch (const SoundError& error) {  // it goes on with later sound
    const Lock lock(mutex_);
    if (std::exchange(lost_, error.what()) != error.what()) spdlog::warn("{}", error.what());
  }
}

void SpokenTurns::listen(const std::stop_token& destroyed) {
  std::vector<float> silence;
  while (true) {
    const std::span<const float> block = audio_.read();
    throw_if_stopped(destroyed);
    if (block.empty()) break;
    {
      const Lock lock(mutex_);
      const Seconds length{static_cast<double>(block.size()) / audio_.sample_rate()};
      if (!begin_) begin_ = clock_.now() - length;
    }
    if (is_deaf()) {
      silence.assign(block.size(), 0.0f);  // so that time goes on
      add(silence);
    } else {
      add(block);
    }
  }
  end_sound(audio_.sample_rate(), destroyed);
}

void SpokenTurns::end_sound(int sample_rate, const std::stop_token& destroyed) {
  const auto block = static_cast<size_t>(kBlock.count() * sample_rate);
  const std::vector<float> silence(block, 0.0f);
  AudioPace pace(sample_rate, clock_);
  const int64_t wait_ms = end_.waits ? end_.waits->longest_ms : end_.silence_ms;
  const Seconds longest = Seconds(static_cast<double>(wait_ms) / 1000) + kGrace;
  for (Seconds added{0}; added < longest; added += kBlock) {
    pace.wait_for(block);
    throw_if_stopped(destroyed);
    throw_if_stopped(stop_);
    add(silence);
    const Lock lock(mutex_);
    if (!is_speaking_ && (is_answering_ || !untaken_.empty())) return;
  }
  const std::string last = queue_.settle();
  if (!is_blank(last)) on_turn({.text = last});
}

void SpokenTurns::on_voice(const UserVoice& voice) {
  const Lock lock(mutex_);
  is_speaking_ = is_speaking_ || voice.is_active;
  if (!voice.is_active && begin_) {
    voice_ended_ = *begin_ + Seconds(static_cast<double>(voice.until_ms) / 1000);
  }
}

void SpokenTurns::on_words(const std::string& words) {
  {
    const Lock lock(mutex_);
    is_speaking_ = true;
    words_known_ = clock_.now();
    const bool interrupts = while_speaking_ == WhileSpeaking::kInterrupts && is_answering_;
    if (interrupts && !is_backchannel(words)) turn_.request_stop();
  }
  queue_.push(words, /*is_final=*/false);
}

void SpokenTurns::on_turn(const RecognisedTurn& turn) {
  const bool is_blank = predgen::is_blank(turn.text);
  {
    const Lock lock(mutex_);
    is_speaking_ = false;
    if (is_blank || (is_answering_ && is_backchannel(turn.text))) return;
    const Seconds now = clock_.now();
    const Seconds ended = std::min(voice_ended_ > Seconds(0) ? voice_ended_ : words_known_, now);
    untaken_.push_back({ended, std::clamp(words_known_, ended, now), now});
  }
  queue_.push(turn.text, /*is_final=*/true);
}

void SpokenTurns::on_lost(const SoundError& why) {
  spdlog::warn("{}", why.what());
  const Lock lock(mutex_);
  is_speaking_ = false;
}

}  // namespace predgen
