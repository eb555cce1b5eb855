#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace predgen {

/// Random numbers that depend only on (seed, purpose, index): never on threads, ranks or the use of
/// other streams. SplitMix64 over a hashed key; same numbers on every platform.
class Random {
 public:
  Random(uint64_t seed, std::string_view purpose, uint64_t index = 0);

  uint64_t next();
  /// Uniform in [0, bound); bound >= 1.
  uint64_t below(uint64_t bound);
  /// Uniform in [0, 1).
  double uniform();

  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace predgen
