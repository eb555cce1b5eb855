#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace predgen {

/// At a multiple of 16 bytes.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : values_((count + kMore) / kMore * kMore + kMore) {}
  T* data() {
    auto place = reinterpret_cast<uintptr_t>(values_.data());
    return values_.data() + (16 - place % 16) % 16 / sizeof(T);
  }

 private:
  static constexpr size_t kMore = 16 / sizeof(T);
  std::vector<T> values_;
};

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : random_(seed) {}
  float next() { return static_cast<float>(random_() % 2001) / 1000.0f - 1.0f; }
  uint32_t bits() { return static_cast<uint32_t>(random_()); }
  /// Two in bfloat16.
  uint32_t pair() {
    const uint32_t low = std::bit_cast<uint32_t>(next()) >> 16;
    return low | (std::bit_cast<uint32_t>(next()) & 0xFFFF0000);
  }
  Buffer<float> floats(size_t count) {
    Buffer<float> values(count);
    for (size_t i = 0; i < count; ++i) values.data()[i] = next();
    return values;
  }
  /// bfloat16
  Buffer<uint16_t> halves(size_t count) {
    Buffer<uint16_t> values(count);
    for (size_t i = 0; i < count; ++i) {
      values.data()[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(next()) >> 16);
    }
    return values;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace predgen
