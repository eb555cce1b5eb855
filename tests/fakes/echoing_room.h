#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include "audio/audio_source.h"
#include "audio/player_sink.h"

namespace predgen {

inline constexpr int kRoomRate = 16'000;  // Hz

/// Noise that is shaped as speech is: syllables of voiced colour, four a second, with pauses.
inline std::vector<float> speech_like(double seconds, unsigned seed, float loudness = 0.1f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> samples(static_cast<size_t>(seconds * kRoomRate));
  float low = 0, band = 0;
  double colour = 0.2, strength = 1;
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t syllable = i % (kRoomRate / 4);
    if (syllable == 0) {
      colour = 0.1 + 0.4 * std::generate_canonical<double, 24>(random);  // of the resonance
      strength = random() % 5 == 0 ? 0 : 0.5 + std::generate_canonical<double, 24>(random);
    }
    const auto f = static_cast<float>(colour);
    low += f * band;
    band += f * (normal(random) - low - 0.5f * band);
    const double shape =
        std::sin(std::numbers::pi * static_cast<double>(syllable) / (kRoomRate / 4.0));
    samples[i] = loudness * static_cast<float>(strength * shape) * band;
  }
  return samples;
}

inline double energy(std::span<const float> samples) {
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * sample;
  return sum;
}
inline double decibels(double energy, double to) {
  return 10 * std::log10((energy + 1e-9) / (to + 1e-9));
}

/// A loudspeaker and a microphone in one room, sample by sample: no time passes but by read(). Its
/// echo comes after the way through the device's buffer and the air, from many walls.
class EchoingRoom : public AudioSource {
 public:
  struct Config {
    double echo = 0.3;                  // -10 dB
    int delay_ms = 20, decay_ms = 30;   // of the air, and of the walls' echoes
    int piece_ms = 20, buffer_ms = 40;  // of the loudspeaker's device
    double drift = 0;                   // share by which the loudspeaker's clock is faster
    float noise = 3e-4f;
    std::function<int()> late_ms = [] { return 0; };  // behind its sound the microphone is read
  };

  /// `played`: has begun, and is told what is played. Borrows it.
  EchoingRoom(const Config& config, PlayedSound& played)
      : config_(config), buffer_(60 * kRoomRate, &played), device_(milliseconds(config.buffer_ms)) {
    std::normal_distribution<float> normal;
    answer_.resize(milliseconds(config.delay_ms + 5 * config.decay_ms));
    for (size_t i = milliseconds(config.delay_ms); i < answer_.size(); ++i) {
      const auto time = static_cast<double>(i - milliseconds(config.delay_ms));
      answer_[i] =
          normal(random_) *
          static_cast<float>(std::exp(-time / static_cast<double>(milliseconds(config.decay_ms))));
    }
    const auto scale = static_cast<float>(config.echo / std::sqrt(energy(answer_)));
    for (float& tap : answer_) tap *= scale;
    std::ranges::reverse(answer_);  // the oldest sample first, as in sounded_
    sounded_.assign(answer_.size(), 0.0f);
  }

  PlaybackBuffer& loudspeaker() { return buffer_; }
  /// Somebody says it from now on.
  void say(std::span<const float> samples) { near_.assign(samples.begin(), samples.end()); }

  int sample_rate() const override { return kRoomRate; }
  std::span<const float> read() override {
    const size_t size = milliseconds(20);
    const size_t wanted = size + milliseconds(config_.late_ms());
    while (heard_.size() < wanted) pass();
    block_.assign(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(size));
    heard_.erase(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(size));
    return block_;
  }

  // All that was heard so far, and what of it was said.
  std::vector<float> all, said;

 private:
  static size_t milliseconds(int count) { return static_cast<size_t>(count * kRoomRate / 1000); }

  void pass() {  // a sample of time
    time_ += 1 + config_.drift;
    for (; time_ >= 1; time_ -= 1) play();
    sounded_.push_back(config_.drift == 0 ? just_played_.back() : between());
    if (sounded_.size() > 10 * answer_.size()) {
      sounded_.erase(sounded_.begin(), sounded_.end() - std::ssize(answer_));
    }
    const std::span<const float> last = std::span(sounded_).last(answer_.size());
    float echo = 0;
    for (size_t i = 0; i < last.size(); ++i) echo += last[i] * answer_[i];
    float near = 0;
    if (!near_.empty()) {
      near = near_.front();
      near_.pop_front();
    }
    const float sample = echo + near + config_.noise * std::normal_distribution<float>()(random_);
    heard_.push_back(sample);
    all.push_back(sample);
    said.push_back(near);
  }
  void play() {
    if (device_.size() + milliseconds(config_.piece_ms) <= milliseconds(config_.buffer_ms)) {
      std::vector<float> piece(milliseconds(config_.piece_ms));
      buffer_.fill(piece);
      device_.insert(device_.end(), piece.begin(), piece.end());
    }
    just_played_.push_back(device_.front());
    just_played_.pop_front();
    device_.pop_front();
  }
  /// The loudspeaker's sound between two of its samples, where one of the microphone's is.
  float between() const {
    double sum = 0;
    const auto half = static_cast<double>(just_played_.size()) / 2;
    for (size_t i = 0; i < just_played_.size(); ++i) {
      const double x = static_cast<double>(i) - (half - 1 + time_);
      const double window = 0.5 + 0.5 * std::cos(std::numbers::pi * x / half);
      sum += just_played_[i] * window *
             (std::abs(x) < 1e-9 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x));
    }
    return static_cast<float>(sum);
  }

  const Config config_;
  PlaybackBuffer buffer_;
  std::deque<float> device_, near_, heard_;
  std::deque<float> just_played_ = std::deque<float>(32);  // of the loudspeaker
  std::vector<float> answer_, sounded_, block_;
  std::mt19937 random_{7};
  double time_ = 0;
};

}  // namespace predgen
