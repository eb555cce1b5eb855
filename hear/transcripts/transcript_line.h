#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace predgen {

/// The most text of a turn, in bytes: an hour of speech. A longer turn would not be answered.
constexpr size_t kMaxTurnBytes = 64 << 10;

/// One line {"text", "time", "revision", "final", "end_of_turn"}; all but text may be missing.
struct TranscriptLine {
  std::string text;
  std::optional<double> time{};       // seconds
  std::optional<int64_t> revision{};  // of the recogniser
  bool is_final = false;              // "end_of_turn" if it is there, otherwise "final"
};

}  // namespace predgen
