#pragma once

#include <optional>
#include <string>

namespace predgen::evaluate {

enum class PairOutcome { kLoss, kTie, kWin };  // against the baseline's answer

/// The judge's verdict on an answer. Anything asked for but missing has a problem, one line.
struct JudgedAnswer {
  std::optional<double> grade{};  // from 1 to 10
  std::string grade_problem{};
  std::optional<PairOutcome> outcome{};  // not a tie: both orders agree
  std::string outcome_problem{};
};

}  // namespace predgen::evaluate
