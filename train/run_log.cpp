#include "train/run_log.h"

#include <chrono>

namespace predgen::train {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& folder, int64_t resumed_step)
    : metrics_(folder / "metrics.jsonl", resumed_step),
      tensorboard_(folder / "tensorboard", resumed_step + 1, unix_time()) {}

void RunLog::write(int64_t step, const std::map<std::string, double>& scalars) {
  Json line{{"step", step}};
  for (const auto& [tag, value] : scalars) {
    line[tag] = value;
    tensorboard_.scalar(tag, step, value, unix_time());
  }
  metrics_.write(line);
}

}  // namespace predgen::train
