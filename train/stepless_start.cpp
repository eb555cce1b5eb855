#include "train/stepless_start.h"

#include <algorithm>
#include <string>

#include "train/metrics_log.h"

namespace predgen::train {
namespace fs = std::filesystem;

bool remove_stepless_start(const fs::path& run) {
  constexpr const char* kOfAStart[] = {"config.yaml", "metrics.jsonl", "watch.jsonl", "report.html",
                                       "tensorboard"};
  if (!fs::exists(run / "metrics.jsonl")) return false;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (std::ranges::find(kOfAStart, entry.path().filename().string()) == std::end(kOfAStart)) {
      return false;
    }
  }
  bool has_step = false;
  read_metrics(run / "metrics.jsonl", [&](const Json& line) {
    has_step = has_step || line.at("step").get<int64_t>() > 0;
  });
  if (has_step) return false;
  for (const char* name : kOfAStart) fs::remove_all(run / name);
  return true;
}

}  // namespace predgen::train
