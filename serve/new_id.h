#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <string_view>

namespace predgen::serve {

/// The prefix and random hexadecimal digits.
inline std::string new_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

}  // namespace predgen::serve
