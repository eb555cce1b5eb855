#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace predgen {

inline bool is_divisible(int64_t number, int64_t by) {
  if (by == 0) throw std::runtime_error("divisibleby: division by zero");
  return by == -1 || number % by == 0;  // the smallest integer cannot be divided by -1
}

/// Limits of one rendering, so that a broken or hostile template ends in an error instead of an
/// endless loop, exhausted memory or a stack overflow. Counted per thread. The engine has no
/// limits and no hooks for them, so engine.patch adds these calls where one evaluation can be
/// expensive. The rest of the patch cannot be done from outside either: Python's white space
/// (python_strip.h) and digits (python_float.h), integers at which the processor traps or a
/// loop never ends, and two references in place of copies of all built-in functions for every
/// name.
class JinjaLimits {
 public:
  /// Resets the counts.
  static void reset() { used() = {}; }

  /// While it lives, one more expression, statement or part of a value is being evaluated.
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

  /// Counts `num_bytes` of new text and `num_values` new values; returns num_bytes.
  static size_t pay(size_t num_bytes, size_t num_values = 0) {
    const bool fits = num_bytes <= kMaxBytes && num_values <= kMaxBytes / kBytesOfValue;
    if (!fits || (used().bytes += num_bytes + kBytesOfValue * num_values) > kMaxBytes) {
      fail("it makes too much text or too many values");
    }
    return num_bytes;
  }
  /// Counts a value cut off the front of a text, whose rest is moved: quadratic in the engine.
  static void pay_to_move(size_t num_bytes) { pay(num_bytes / kMovedForOne, 1); }
  /// Counts a shared_ptr to an engine's value, if that is new.
  template <typename Value>
  static void pay_for(const Value& value) {
    if (value.use_count() != 1) return;
    pay(value->val_str.length(), value->val_str.parts.size() + value->val_arr.size());
  }

  /// The next number of range(), which pays for each.
  static void advance(int64_t& number, int64_t step, int64_t stop) {
    pay(0, 1);
    if (__builtin_add_overflow(number, step, &number)) number = stop;
  }

  /// Fails if `holder` would contain itself once it holds `value`, or values nest too deep.
  template <typename Value>
  static void check_fits(const Value& value, const void* holder, int depth = 0) {
    if (value->val_arr.empty() && value->val_obj.empty() && value.get() != holder) return;
    if (value.get() == holder || depth >= kMaxValueDepth) {
      fail("a value holds itself, or values are nested too deep");
    }
    pay(0, value->val_arr.size() + value->val_obj.size());
    for (const auto& item : value->val_arr) check_fits(item, holder, depth + 1);
    for (const auto& pair : value->val_obj) check_fits(pair.second, holder, depth + 1);
  }

  [[noreturn]] static void fail(const char* why) { throw std::runtime_error(why); }

 private:
#ifdef PREDGEN_FUZZ  // sanitizers are slow: the same checks, earlier
  static constexpr int kSmaller = 50;
#else
  static constexpr int kSmaller = 1;
#endif
  static constexpr int kMaxDepth = 600;
  static constexpr int kMaxValueDepth = 100;  // nesting of lists and objects
  static constexpr int64_t kMaxSteps = 1'000'000 / kSmaller;
  static constexpr size_t kMaxBytes = 256'000'000 / kSmaller;
  static constexpr size_t kBytesOfValue = 256;
  static constexpr size_t kMovedForOne = 16;  // moving this many bytes costs as much as making one

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
