#include "core/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/text.h"

namespace predgen {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTerminalPeriod{100};
constexpr std::chrono::seconds kPlainPeriod{10};

std::string format_duration(double seconds) {
  const auto total = static_cast<int64_t>(std::lround(seconds));
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

/// The longest prefix of `line` that fits, cut between UTF-8 characters.
std::string fit(const std::string& line, size_t width) {
  return std::string(first_characters(line, static_cast<int64_t>(width)));
}

}  // namespace

Progress::Progress(std::string label, std::string unit, int64_t total)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(steady_clock::now()),
      drawn_(start_) {}

Progress::~Progress() {
  if (!terminal_ && done_ == 0) return;  // what ended it prints its own line
  try {
    finish();
  } catch (...) {  // a bar must not end the program
  }
}

void Progress::update(int64_t done, const std::string& note) {
  if (first_ < 0) first_ = done <= 1 ? 0 : done;
  done_ = done;
  note_ = note;
  const auto period = terminal_ ? steady_clock::duration(kTerminalPeriod) : kPlainPeriod;
  if (steady_clock::now() - drawn_ >= period) draw(false);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  draw(true);
}

void Progress::draw(bool last) {
  drawn_ = steady_clock::now();
  const double elapsed = std::chrono::duration<double>(drawn_ - start_).count();
  const int64_t new_work = done_ - std::max<int64_t>(first_, 0);
  const double rate = elapsed > 0 ? static_cast<double>(new_work) / elapsed : 0;

  std::string line = label_ + ": ";
  if (total_ > 0) {
    const double share =
        std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
    if (terminal_) {
      constexpr int kCells = 20;
      const int full = static_cast<int>(share * kCells);
      line += fmt::format("[{:#<{}}{:.<{}}] ", "", full, "", kCells - full);
    }
    line += fmt::format("{}/{} {} ({:.0f}%)", done_, total_, unit_, 100 * share);
  } else {
    line += fmt::format("{} {}", done_, unit_);
  }
  if (rate > 0) {
    line += rate >= 1 ? fmt::format(", {:.1f} {}/s", rate, unit_)
                      : fmt::format(", {:.1f} s each", 1 / rate);
  }
  if (last || rate == 0 || total_ <= 0) {
    line += fmt::format(", {} elapsed", format_duration(elapsed));
  } else {
    line += fmt::format(
        ", {} left",
        format_duration(static_cast<double>(std::max<int64_t>(total_ - done_, 0)) / rate));
  }
  if (!note_.empty()) line += ", " + note_;

  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s%s", fit(line, terminal_width() - 1).c_str(), last ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

}  // namespace predgen
