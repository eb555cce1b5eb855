#include "runtime/converse/system_prompt.h"

namespace predgen {
namespace {

constexpr const char* kTable3 =
    "The instruction provided by the user may be truncated. In such cases, respond based on your "
    "best guess of the incomplete instruction. Do not complain about incomplete prompts.";

}  // namespace

std::string system_prompt_text(const std::string& setting) {
  if (setting == "table3") return kTable3;
  return setting == "none" ? "" : setting;
}

}  // namespace predgen
