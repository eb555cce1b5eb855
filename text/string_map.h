#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace predgen {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// A hash map with string keys that can be searched by string_view.
template <typename T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

}  // namespace predgen
