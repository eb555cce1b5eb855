#include "core/split_name.h"

#include <fmt/format.h>

#include <string_view>

namespace predgen {

std::string SplitName::part(int64_t other) const {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, other, count);
}

std::optional<SplitName> parse_split_name(const std::string& name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";  // 0: a digit
  if (name.size() <= kPattern.size()) return std::nullopt;
  const size_t prefix = name.size() - kPattern.size();
  for (size_t i = 0; i < kPattern.size(); ++i) {
    const char c = name[prefix + i];
    if (kPattern[i] == '0' ? c < '0' || c > '9' : c != kPattern[i]) return std::nullopt;
  }
  return SplitName{name.substr(0, prefix), std::stoll(name.substr(prefix + 1, 5)),
                   std::stoll(name.substr(prefix + 10, 5))};
}

}  // namespace predgen
