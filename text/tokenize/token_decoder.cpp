#include "text/tokenize/token_decoder.h"

#include <charconv>

#include "core/error.h"
#include "text/tokenize/byte_alphabet.h"
#include "text/tokenize/tokenizer_json.h"

namespace predgen {

TokenDecoder::TokenDecoder(const Json& decoder, const std::string& where) {
  if (decoder.is_null()) throw UserError("{}: \"decoder\" null is not supported", where);
  const std::string type = json_get<std::string>(decoder, "type", where);
  if (type == "ByteLevel") {
    byte_level_ = true;
  } else if (type == "Sequence") {
    for (const Json& step : json_get<Json>(decoder, "decoders", where)) add(step, where);
  } else {
    throw UserError("{}: decoder type \"{}\" is not supported (ByteLevel, Sequence)", where, type);
  }
}

void TokenDecoder::add(const Json& step, const std::string& where) {
  const std::string type = json_get<std::string>(step, "type", where);
  if (type == "Replace" && !byte_fallback_ && !fused_) {
    replacements_.push_back(
        {read_pattern(step, where), json_get<std::string>(step, "content", where)});
  } else if (type == "ByteFallback" && !fused_) {
    byte_fallback_ = true;
  } else if (type == "Fuse") {
    fused_ = true;
  } else if (type == "Strip" && fused_ && json_get<std::string>(step, "content", where) == " " &&
             json_get<int64_t>(step, "stop", where) == 0) {
    num_dropped_spaces_ += json_get<size_t>(step, "start", where);
  } else {
    throw UserError(
        "{}: decoder step {} is not supported at its place (Replace, ByteFallback, Fuse, then "
        "Strip "
        "of spaces at the start)",
        where, step.dump());
  }
}

std::string TokenDecoder::text_of(std::string_view token) const {
  if (byte_level_) return bytes_of_letters(token).value_or(std::string(token));
  std::string text(token);
  for (const Replace& replacement : replacements_) {
    text = replacement.pattern.replace_all(text, replacement.content);
    check_growth(text, token);
  }
  const int byte = byte_fallback_ ? fallback_byte(text) : -1;
  return byte < 0 ? text : std::string(1, static_cast<char>(byte));
}

int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = -1;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  return error == std::errc() && end == token.data() + 5 ? byte : -1;
}

}  // namespace predgen
