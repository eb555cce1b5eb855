#include "data/row_layout.h"

#include <algorithm>
#include <string_view>

namespace predgen::data {

std::string role_named(const std::string& name) {
  if (name == "human") return "user";
  for (const std::string_view model : {"gpt", "chatgpt", "bard", "bing", "model"}) {
    if (name == model) return "assistant";
  }
  if (name == "developer") return "system";
  return name;
}

bool is_tool_role(const std::string& name) {
  constexpr std::array<std::string_view, 8> kToolRoles{
      "tool",        "function",      "function_call",     "tool_call",
      "observation", "tool_response", "function_response", "ipython"};
  return std::ranges::find(kToolRoles, name) != kToolRoles.end();
}

}  // namespace predgen::data
