#include "train/watch/watch_log.h"

#include <algorithm>

namespace predgen::train {

WatchLog::WatchLog(const std::filesystem::path& folder, int64_t resumed_step,
                   const std::string& watched)
    : file_(folder / "watch.jsonl", resumed_step), watched_(watched) {
  read_metrics(folder / "watch.jsonl", [this](const Json& line) { take(line); });
}

void WatchLog::write(Json line) {
  line["watched"] = watched_;
  file_.write(line);
  take(line);
}

void WatchLog::take(const Json& line) {
  if (line.value("watched", "") != watched_) return;
  lowest_repetition_ = std::min(lowest_repetition_, json_get<double>(line, "repetition", "watch"));
  if (!first_answers_.empty()) return;
  for (const Json& answer : line.at("answers")) {
    first_answers_.push_back(json_get<TokenIds>(answer, "token_ids", "watch"));
  }
}

}  // namespace predgen::train
