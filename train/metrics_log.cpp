#include "train/metrics_log.h"

#include <sstream>

#include "core/error.h"
#include "core/files.h"

namespace predgen {

MetricsLog::MetricsLog(const std::filesystem::path& file, int64_t resumed_step) : file_(file) {
  std::string kept;
  if (std::filesystem::exists(file)) {
    std::istringstream lines(read_file(file));
    for (std::string line; std::getline(lines, line);) {
      const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object() || json.value("step", int64_t{-1}) > resumed_step) break;
      kept += line + "\n";
    }
  }
  write_file(file, kept);
  stream_.open(file, std::ios::app);
  if (!stream_) throw Error("cannot write {}", file.string());
}

void MetricsLog::write(const Json& line) {
  stream_ << line.dump() << "\n" << std::flush;
  if (!stream_) throw Error("cannot write {}: is the disk full?", file_.string());
}

}  // namespace predgen
