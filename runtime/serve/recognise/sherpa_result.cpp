#include "runtime/serve/recognise/sherpa_result.h"

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"

namespace predgen {

RecognisedSegment parse_sherpa_result(std::string_view message) {
  check_json_depth(message, "it");
  const Json json = Json::parse(message, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw UserError("is no JSON object");
  const auto text = json.find("text"), number = json.find("segment"), over = json.find("is_final");
  if (text == json.end() || !text->is_string()) throw UserError("has no text");
  RecognisedSegment segment{.text = std::string(trimmed(text->get_ref<const std::string&>()))};
  if (number != json.end()) {
    if (!number->is_number_integer()) throw UserError("has a segment that is no number");
    segment.number = number->get<int64_t>();
  }
  if (over != json.end()) {
    if (!over->is_boolean()) throw UserError("has an is_final that is neither true nor false");
    segment.is_over = over->get<bool>();
  }
  return segment;
}

}  // namespace predgen
