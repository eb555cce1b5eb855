#include "hear/transcripts/sherpa_result.h"

#include "core/text.h"

namespace predgen {

SherpaResult parse_sherpa_result(const Json& message, const std::string& where) {
  const auto text = message.find("text"), segment = message.find("segment"),
             is_final = message.find("is_final");
  if (text == message.end()) fail_json_key("text", where, "is missing");
  if (!text->is_string()) fail_json_key("text", where, "is no text");
  SherpaResult result{.text = std::string(trimmed(text->get_ref<const std::string&>()))};
  if (segment != message.end()) {
    if (!segment->is_number_integer()) fail_json_key("segment", where, "is no whole number");
    result.segment = segment->get<int64_t>();
  }
  if (is_final != message.end()) {
    if (!is_final->is_boolean()) fail_json_key("is_final", where, "is neither true nor false");
    result.is_final = is_final->get<bool>();
  }
  return result;
}

}  // namespace predgen
