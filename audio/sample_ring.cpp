#include "audio/sample_ring.h"

#include <algorithm>
#include <array>
#include <utility>

#include "audio/audio_source.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"

namespace predgen {

size_t SampleRing::push(std::span<const float> samples) {
  const uint64_t written = written_.load(std::memory_order_relaxed);
  const uint64_t used = written - read_.load(std::memory_order_acquire);
  const size_t count = std::min(samples.size(), samples_.size() - static_cast<size_t>(used));
  for (size_t i = 0; i < count; ++i) samples_[(written + i) % samples_.size()] = samples[i];
  written_.store(written + count, std::memory_order_release);
  return count;
}

size_t SampleRing::size() const {
  const uint64_t read = std::max(read_.load(), dropped_.load());
  const uint64_t written = written_.load();
  return static_cast<size_t>(written - std::min(read, written));
}

size_t SampleRing::pop(std::span<float> samples) {
  const uint64_t read = std::max(read_.load(std::memory_order_relaxed), dropped_.load());
  const uint64_t available = written_.load(std::memory_order_acquire) - read;
  const size_t count = std::min<uint64_t>(samples.size(), available);
  for (size_t i = 0; i < count; ++i) samples[i] = samples_[(read + i) % samples_.size()];
  read_.store(read + count, std::memory_order_release);
  return count;
}

namespace {

constexpr Seconds kLook{0.005};  // until it is asked again for a block

}  // namespace

DeviceSound::DeviceSound(int sample_rate, Clock& clock, std::stop_token stop)
    : clock_(clock),
      stop_(std::move(stop)),
      ring_(static_cast<size_t>(sample_rate)),
      block_(static_cast<size_t>(sample_rate / kBlocksPerSecond)) {}

void DeviceSound::push(std::span<const float> samples) {
  constexpr std::array<float, 256> kSilence{};
  while (num_owed_ > 0) {
    const size_t count =
        ring_.push(std::span(kSilence).first(std::min(num_owed_, kSilence.size())));
    if (count == 0) break;
    num_owed_ -= count;
  }
  const size_t lost = samples.size() - (num_owed_ > 0 ? 0 : ring_.push(samples));
  num_owed_ += lost;
  num_lost_ += static_cast<int64_t>(lost);
}

std::span<const float> DeviceSound::read(const std::function<bool()>& is_running) {
  tell_loss();
  const Seconds end = clock_.now() + kGone;
  while (ring_.size() < block_.size()) {
    throw_if_stopped(stop_);
    if (!is_running()) throw UserError("the microphone has stopped");
    if (clock_.now() >= end) {
      throw UserError("the microphone has given no sound for {} s: is it still connected?",
                      kGone.count());
    }
    clock_.sleep_until(clock_.now() + kLook);
  }
  ring_.pop(block_);
  return block_;
}

void DeviceSound::tell_loss() {
  if (num_lost_ == 0 || std::exchange(is_told_, true)) return;
  spdlog::warn(
      "some of the microphone's sound is lost, because it was not read for a second; silence takes "
      "its place, now and whenever that happens");
}

}  // namespace predgen
