#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hear/recogniser.h"

namespace predgen {

/// The end of an utterance's sound, at kRecogniserRate: the next utterance may begin in it.
class RecentSound {
 public:
  static constexpr int64_t kMost = kRecogniserRate / 2;  // samples that are kept

  void add(std::span<const float> samples) {
    num_samples_ += std::ssize(samples);
    kept_.insert(kept_.end(), samples.begin(), samples.end());
    kept_.erase(kept_.begin(), kept_.end() - std::min(std::ssize(kept_), kMost));
  }
  /// Another utterance begins.
  void clear() {
    num_samples_ = 0;
    kept_.clear();
  }

  /// What was added after the first `num_samples`, as far as it is kept.
  std::vector<float> after(int64_t num_samples) const {
    const int64_t count = std::clamp<int64_t>(num_samples_ - num_samples, 0, std::ssize(kept_));
    return {kept_.end() - count, kept_.end()};
  }

 private:
  int64_t num_samples_ = 0;
  std::vector<float> kept_;
};

}  // namespace predgen
