#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace predgen {

/// A progress bar with rate and time left on stderr: redrawn in place on a terminal, a plain line
/// every ten seconds elsewhere. Used by one thread.
class Progress {
 public:
  /// `unit` is the plural of what is counted; total 0: unknown.
  Progress(std::string label, std::string unit, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Updates to `done`; `note` is shown after the rate (a loss, a file name).
  void update(int64_t done, const std::string& note = "");
  /// Draws the last state and ends the line. The destructor does it too.
  void finish();

 private:
  void draw(bool last);

  const std::string label_, unit_;
  const int64_t total_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
  int64_t done_ = 0, first_ = -1;  // first_: where a resumed job began, kept out of the rate
  std::string note_;
  bool finished_ = false;
};

}  // namespace predgen
