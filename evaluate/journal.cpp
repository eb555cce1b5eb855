#include "evaluate/journal.h"

#include "core/error.h"
#include "core/files.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kIdentity = "identity";

}  // namespace

Journal::Journal(std::filesystem::path file, const std::string& identity, bool restart)
    : file_(std::move(file)) {
  if (restart) std::filesystem::remove(file_);
  if (std::filesystem::exists(file_)) read();
  const auto there = parts_.find(kIdentity);
  if (there != parts_.end() && there->second != identity) {
    throw UserError(
        "{} is of an unfinished run with another configuration, set or weights: finish that one, "
        "choose another output, or drop it with --restart",
        file_.string());
  }
  stream_.open(file_, std::ios::binary | std::ios::app);
  if (there == parts_.end()) append(kIdentity, identity);
}

void Journal::read() {
  const std::string text = read_file(file_);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const Json line = parse_json(std::string_view(text).substr(begin, end - begin), file_.string());
    parts_[json_get<std::string>(line, "key", file_.string())] =
        json_get<Json>(line, "value", file_.string());
    begin = end + 1;
  }
  std::filesystem::resize_file(file_, begin);
}

std::optional<Json> Journal::find(const std::string& key) const {
  const Lock lock(mutex_);
  const auto part = parts_.find(key);
  return part == parts_.end() ? std::nullopt : std::optional(part->second);
}

void Journal::append(const std::string& key, const Json& value) {
  const std::string text = to_text(value);
  const Lock lock(mutex_);
  stream_ << R"({"key":)" << to_text(Json(key)) << R"(,"value":)" << text << "}\n" << std::flush;
  if (!stream_) throw Error("{} cannot be written: is the disk full?", file_.string());
  parts_[key] = parse_json(text, key);  // the same as if it was read back
}

void Journal::remove() {
  const Lock lock(mutex_);
  stream_.close();
  std::filesystem::remove(file_);
}

}  // namespace predgen::evaluate
