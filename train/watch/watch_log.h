#pragma once

#include <filesystem>
#include <vector>

#include "core/json.h"
#include "text/token_ids.h"
#include "train/metrics_log.h"

namespace predgen {

/// watch.jsonl in a run's folder: {"step", "repetition", "answers": [{"token_ids", "text"}]} a
/// watch; the first line also has "prompts" (texts).
class WatchLog {
 public:
  /// Lines of later steps than `resumed_step` are removed.
  WatchLog(const std::filesystem::path& folder, int64_t resumed_step);
  void write(const Json& line);

  /// Of the first watch of the run; nothing before it.
  const std::vector<TokenIds>& first_answers() const { return first_answers_; }
  /// Over all watches; 1 before the first.
  double lowest_repetition() const { return lowest_repetition_; }

 private:
  void take(const Json& line);
  MetricsLog file_;
  std::vector<TokenIds> first_answers_;
  double lowest_repetition_ = 1.0;
};

}  // namespace predgen
