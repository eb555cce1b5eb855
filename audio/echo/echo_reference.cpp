#include "audio/echo/echo_reference.h"

#include <algorithm>
#include <limits>

namespace predgen {
namespace {

constexpr int kPiecesPerSecond = 50;
/// How much may be queued at any time: a microphone may be read late, too.
constexpr size_t kMostWaiting = 3 * EchoReference::kRate / 2;
/// How often the least amount queued is checked, in samples.
constexpr int64_t kStretch = 5 * EchoReference::kRate;
constexpr size_t kMostLeast = EchoReference::kRate * 40 / 1000;
constexpr size_t kLeftOfIt = EchoReference::kRate * 10 / 1000;

}  // namespace

EchoReference::EchoReference(PlayedSound& played)
    : played_(played),
      resampler_(played.sample_rate(), kRate),
      piece_(static_cast<size_t>(played.sample_rate() / kPiecesPerSecond)),
      least_waiting_(std::numeric_limits<size_t>::max()) {}

void EchoReference::pull() {
  while (const size_t count = played_.take(piece_)) {
    resampler_.add(std::span(piece_).first(count), queue_);
  }
}

void EchoReference::drop(size_t num_samples) {
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(num_samples));
  num_dropped_ += static_cast<int64_t>(num_samples);
}

bool EchoReference::take(std::span<float> samples) {
  pull();
  bool is_in_step = has_begun_;
  const int64_t num_losses = played_.num_losses();
  if (!has_begun_ || num_losses != num_losses_ || queue_.size() > kMostWaiting) {
    has_begun_ = true;
    is_in_step = false;
    num_losses_ = num_losses;
    if (queue_.size() > samples.size()) drop(queue_.size() - samples.size());
  }
  const size_t count = std::min(samples.size(), queue_.size());
  std::copy_n(queue_.begin(), count, samples.begin());
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  if (count < samples.size()) {
    std::ranges::fill(samples.subspan(count), 0.0f);
    num_repeated_ += static_cast<int64_t>(samples.size() - count);
    is_in_step = false;
  }
  least_waiting_ = std::min(least_waiting_, queue_.size());
  stretch_ += std::ssize(samples);
  if (stretch_ < kStretch) return is_in_step;
  if (least_waiting_ > kMostLeast) {
    drop(least_waiting_ - kLeftOfIt);
    is_in_step = false;
  }
  stretch_ = 0;
  least_waiting_ = std::numeric_limits<size_t>::max();
  return is_in_step;
}

}  // namespace predgen
