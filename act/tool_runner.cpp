#include "act/tool_runner.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"

namespace predgen::act {

std::string to_string(ToolResult::Status status) {
  constexpr std::array kNames{"done", "failed", "timed out", "cancelled", "unavailable"};
  return kNames.at(static_cast<size_t>(status));
}

namespace {

std::string part_text(const Json& part) {
  const auto text_at = [](const Json& object, const char* key) {
    const bool has_text = object.is_object() && object.contains(key) && object[key].is_string();
    return has_text ? object[key].get<std::string>() : std::string();
  };
  const std::string type = text_at(part, "type");
  if (type == "text") return text_at(part, "text");
  if (type == "resource" && part.contains("resource")) {
    const std::string text = text_at(part["resource"], "text");
    return text.empty() ? "[a file that is no text]" : text;
  }
  if (type == "resource_link") return "[a link: " + text_at(part, "uri") + "]";
  return type == "image" || type == "audio" ? "[" + type + "]" : "[something unknown]";
}

}  // namespace

std::string bounded(std::string_view text, size_t most) {
  size_t size = std::min(text.size(), most);
  while (size < text.size() && size > 0 && !begins_character(text[size])) --size;
  std::string kept(text.substr(0, size));
  std::erase_if(kept,
                [](unsigned char c) { return (c < ' ' && c != '\n' && c != '\t') || c == 127; });
  if (size < text.size()) kept += fmt::format("\n[cut: {} more bytes]", text.size() - size);
  return kept;
}

ToolResult read_call_result(const Json& answer, size_t most) {
  std::string text;
  const bool has_parts =
      answer.is_object() && answer.contains("content") && answer["content"].is_array();
  if (has_parts) {
    for (const Json& part : answer["content"]) {
      text = joined(text, "\n", part_text(part));
      if (text.size() > most) break;  // the rest is cut in any case
    }
  }
  if (text.empty() && answer.is_object() && answer.contains("structuredContent")) {
    text = to_text(answer["structuredContent"]);
  }
  const bool is_error = answer.is_object() && answer.value("isError", Json(false)) == Json(true);
  if (is_error) {
    return {ToolResult::Status::kFailed,
            "Error: " + bounded(text.empty() ? "the tool failed and says no more" : text, most)};
  }
  return {ToolResult::Status::kDone, text.empty() ? "Done." : bounded(text, most)};
}

}  // namespace predgen::act
