#include "tensors/gguf_parts.h"

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// Parsed from "<prefix>-00001-of-00003.gguf".
struct PartName {
  std::string prefix;
  int64_t number, count;

  fs::path part(const fs::path& folder, int64_t other) const {
    return folder / fmt::format("{}-{:05}-of-{:05}.gguf", prefix, other, count);
  }
};

std::optional<PartName> parse_part_name(const std::string& name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";  // 0: a digit
  if (name.size() <= kPattern.size()) return std::nullopt;
  const size_t prefix = name.size() - kPattern.size();
  for (size_t i = 0; i < kPattern.size(); ++i) {
    const char c = name[prefix + i];
    if (kPattern[i] == '0' ? c < '0' || c > '9' : c != kPattern[i]) return std::nullopt;
  }
  return PartName{name.substr(0, prefix), std::stoll(name.substr(prefix + 1, 5)),
                  std::stoll(name.substr(prefix + 10, 5))};
}

}  // namespace

std::vector<fs::path> gguf_parts(const fs::path& first, const GgufMetadata& metadata) {
  const std::string& where = metadata.where();
  const std::optional<PartName> name = parse_part_name(first.filename().string());
  const auto count = metadata.get_or<int64_t>("split.count", 1);
  if (count <= 1 && (!name || name->count <= 1)) return {first};
  if (!name || name->count != count) {
    throw UserError(
        "{}: split.count says that it is one of {} parts, its name does not: give all "
        "parts their names (\"NAME-00001-of-{:05}.gguf\"), or download them again",
        where, count, count);
  }
  if (name->number != 1) {
    throw UserError("{}: is part {} of {} of a model: give the first one, {}", where, name->number,
                    count, name->part(first.parent_path(), 1).string());
  }
  std::vector<fs::path> parts;
  for (int64_t i = 1; i <= count; ++i) {
    parts.push_back(name->part(first.parent_path(), i));
    if (!fs::exists(parts.back())) {
      throw UserError("{}: part {} of {} is missing: put it beside the others",
                      parts.back().string(), i, count);
    }
  }
  return parts;
}

}  // namespace predgen
