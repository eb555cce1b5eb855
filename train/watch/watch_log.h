#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/token_ids.h"
#include "train/metrics_log.h"

namespace predgen::train {

/// watch.jsonl in a run's folder: {"step", "watched", "repetition", "answers": [{"token_ids",
/// "text"}]} per watch; the first line of a new `watched` also has "prompts" (texts).
class WatchLog {
 public:
  /// Removes lines of steps after `resumed_step`. `watched` identifies the prompts and how they are
  /// answered: lines with another one stay in the file but are not compared.
  WatchLog(const std::filesystem::path& folder, int64_t resumed_step, const std::string& watched);
  /// `line`: without "watched".
  void write(Json line);

  /// Of the first such watch in the run; empty before it.
  const std::vector<TokenIds>& first_answers() const { return first_answers_; }
  /// The lowest over all such watches; 1 before the first.
  double lowest_repetition() const { return lowest_repetition_; }

 private:
  void take(const Json& line);
  MetricsLog file_;
  std::string watched_;
  std::vector<TokenIds> first_answers_;
  double lowest_repetition_ = 1.0;
};

}  // namespace predgen::train
