#include "act/tool_runner.h"

#include <array>

namespace predgen::act {

std::string to_string(ToolResult::Status status) {
  constexpr std::array kNames{"done", "failed", "timed out", "cancelled", "unavailable"};
  return kNames.at(static_cast<size_t>(status));
}

}  // namespace predgen::act
