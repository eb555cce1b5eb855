#include "train/metrics_log.h"

#include <sstream>

#include "core/error.h"
#include "core/files.h"

namespace predgen::train {

MetricsLog::MetricsLog(const std::filesystem::path& file, int64_t resumed_step) : file_(file) {
  std::string kept;
  if (std::filesystem::exists(file)) {
    bool later = false;
    read_metrics(file, [&](const Json& line) {
      later = later || line.at("step").get<int64_t>() > resumed_step;
      if (!later) kept += line.dump() + "\n";
    });
  }
  write_file(file, kept);
  stream_.open(file, std::ios::app);
  if (!stream_) throw Error("cannot write {}", file.string());
}

void MetricsLog::write(const Json& line) {
  stream_ << line.dump() << "\n" << std::flush;
  if (!stream_) throw Error("cannot write {}: is the disk full?", file_.string());
}

void read_metrics(const std::filesystem::path& file, const std::function<void(const Json&)>& take) {
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("step") || !json.at("step").is_number_integer()) return;
    take(json);
  }
}

}  // namespace predgen::train
