#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace predgen {

/// The integer part of a number, or the nearest integer that there is; 0 for what is not finite.
inline int64_t to_integer(double number) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (!std::isfinite(number)) return 0;
  if (number >= kTwoTo63) return INT64_MAX;
  return number <= -kTwoTo63 ? INT64_MIN : static_cast<int64_t>(number);
}

/// What one rendering may take, so that a broken or hostile template ends in an error instead of an
/// endless loop, all memory or an exhausted stack. engine.patch puts these calls into the engine,
/// which has no limits of its own. Counted by thread.
class JinjaLimits {
 public:
  /// Begins counting anew.
  static void reset() { used() = {}; }

  /// While it lives, one more expression or statement is being evaluated.
  class Step {
   public:
    Step() {
      if (used().depth >= kMaxDepth) fail("its expressions or macros are nested too deep");
      if (++used().steps > kMaxSteps) fail("it takes too many steps");
      ++used().depth;
    }
    ~Step() { --used().depth; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
  };

  /// For `num_bytes` of new text, or 256 of them for each new value.
  static void pay(size_t num_bytes) {
    if (num_bytes > kMaxBytes || (used().bytes += num_bytes) > kMaxBytes) {
      fail("it makes too much text or too many values");
    }
  }
  static void pay_values(uint64_t count) { pay(count > kMaxBytes ? kMaxBytes + 1 : 256 * count); }

  static constexpr int kMaxValueDepth = 100;  // of lists and objects in each other

  [[noreturn]] static void fail(const char* why) { throw std::runtime_error(why); }

 private:
#ifdef PREDGEN_FUZZ  // sanitizers are slow: the same checks, earlier
  static constexpr int kSmaller = 50;
#else
  static constexpr int kSmaller = 1;
#endif
  static constexpr int kMaxDepth = 600;
  static constexpr int64_t kMaxSteps = 500'000 / kSmaller;
  static constexpr size_t kMaxBytes = 256'000'000 / kSmaller;

  struct Used {
    int depth = 0;
    int64_t steps = 0;
    size_t bytes = 0;
  };
  static Used& used() {
    thread_local Used counts;
    return counts;
  }
};

}  // namespace predgen
