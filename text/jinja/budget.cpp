#include "text/jinja/budget.h"

#include <fmt/format.h>

namespace predgen::jinja {
namespace {

constexpr int64_t kStepsBetweenLooks = 2'000;

}  // namespace

Budget::Budget(const Limits& limits)
    : limits_(limits), end_(std::chrono::steady_clock::now() + limits.time) {}

void Budget::step(int64_t count) {
  if (count > limits_.steps - steps_) throw TooMuch("it takes too many steps");
  steps_ += count;
  if (steps_ < next_look_) return;
  next_look_ = steps_ + kStepsBetweenLooks;
  if (std::chrono::steady_clock::now() > end_) {
    throw TooMuch(fmt::format("it takes longer than {} ms", limits_.time.count()));
  }
}

void Budget::write(size_t bytes) {
  if (bytes > limits_.output) {
    throw TooMuch(fmt::format("it makes a text of more than {} MiB", limits_.output >> 20));
  }
  read(bytes);
}

void Budget::append(std::string& text, std::string_view more) {
  write(more.size() > limits_.output - text.size() ? limits_.output + 1 : more.size());
  text += more;
}

void Budget::write_times(size_t count, size_t bytes) {
  if (bytes > 0 && count > limits_.output / bytes) {
    write(limits_.output + 1);
  }
  write(count * bytes);
}

void Budget::hold(size_t bytes) {
  if (bytes > limits_.memory - held_) {
    throw TooMuch(fmt::format("it takes more than {} MiB of memory", limits_.memory >> 20));
  }
  held_ += bytes;
}

void Budget::enter() {
  if (depth_ >= limits_.depth) throw TooMuch("its expressions or macros are nested too deep");
  step();
  ++depth_;
}

}  // namespace predgen::jinja
