#include "tensors/gguf_parts.h"

#include <optional>

#include "core/error.h"
#include "core/split_name.h"

namespace predgen {
namespace fs = std::filesystem;

std::vector<fs::path> gguf_parts(const fs::path& first, const GgufMetadata& metadata) {
  const std::string& where = metadata.where();
  const std::optional<SplitName> name = parse_split_name(first.filename().string());
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
                    count, (first.parent_path() / name->part(1)).string());
  }
  std::vector<fs::path> parts;
  for (int64_t i = 1; i <= count; ++i) {
    parts.push_back(first.parent_path() / name->part(i));
    if (!fs::exists(parts.back())) {
      throw UserError("{}: part {} of {} is missing: put it beside the others",
                      parts.back().string(), i, count);
    }
  }
  return parts;
}

}  // namespace predgen
