#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace predgen::jinja {

/// What is wrong with a template or what it does, without its place.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A template asks for more than its budget.
class TooMuch : public Failure {
 public:
  using Failure::Failure;
};

/// What a template, which may be a stranger's, may still take. One thread at a time.
class Budget {
 public:
  struct Limits {
    std::chrono::milliseconds time{1000};  // by the wall clock
    int64_t steps = 50'000'000;            // expressions, statements, values, runs of 64 bytes
    size_t output = size_t{8} << 20;       // bytes of one text
    size_t memory = size_t{96} << 20;      // bytes of all values that are alive
    int depth = 700;                       // expressions, statements and macros in each other
  };
  Budget() : Budget(Limits()) {}
  explicit Budget(const Limits& limits);
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const Limits& limits() const { return limits_; }

  /// Counts `count` steps, before they are done. TooMuch.
  void step(int64_t count = 1);
  /// Counts work on `bytes` of text. TooMuch.
  void read(size_t bytes) { step(1 + static_cast<int64_t>(bytes / 64)); }
  /// Counts a text of `bytes`, before it is made. TooMuch.
  void write(size_t bytes);
  /// Appends `more` to a text that is being made. TooMuch.
  void append(std::string& text, std::string_view more);
  /// Fails if a text of `count` times `bytes` would be too long.
  void write_times(size_t count, size_t bytes);

  void hold(size_t bytes);
  void release(size_t bytes) { held_ -= bytes; }

  /// While it lives, one more expression, statement or macro is being evaluated.
  class Nested {
   public:
    explicit Nested(Budget& budget) : budget_(budget) { budget_.enter(); }
    ~Nested() { --budget_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Budget& budget_;
  };

  /// Memory that a value takes while it lives.
  class Held {
   public:
    Held() = default;
    Held(Budget& budget, size_t bytes) : budget_(&budget), bytes_(bytes) { budget.hold(bytes); }
    ~Held() {
      if (budget_ != nullptr) budget_->release(bytes_);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    /// Holds `bytes` more, of the same budget if it has one.
    void attach(Budget& budget, size_t bytes) {
      budget.hold(bytes);
      budget_ = &budget;
      bytes_ += bytes;
    }

   private:
    Budget* budget_ = nullptr;
    size_t bytes_ = 0;
  };

 private:
  void enter();

  Limits limits_;
  std::chrono::steady_clock::time_point end_;
  int64_t steps_ = 0, next_look_ = 0;  // at the clock
  size_t held_ = 0;
  int depth_ = 0;
};

}  // namespace predgen::jinja
