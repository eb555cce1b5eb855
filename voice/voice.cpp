#include "voice/voice.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.h"

namespace predgen {

UserError unknown_voice(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kMostNamed = 40;  // so that the line stays readable
  const size_t num_named = std::min(names.size(), kMostNamed);
  const std::string more =
      num_named < names.size() ? fmt::format(" or {} others", names.size() - num_named) : "";
  return UserError(
      "there is no voice '{}' here: choose one of {}{}", shortened(name),
      fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(num_named), ", "), more);
}

}  // namespace predgen
