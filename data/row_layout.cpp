#include "data/row_layout.h"

namespace predgen::data {

std::string role_named(const std::string& name) {
  if (name == "human") return "user";
  if (name == "gpt" || name == "chatgpt") return "assistant";
  if (name == "developer") return "system";
  return name;
}

}  // namespace predgen::data
