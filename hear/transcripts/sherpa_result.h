#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace predgen {

/// What a sherpa-onnx streaming server reports of a segment so far. The servers written in Python
/// only count segments.
struct SherpaResult {
  std::string text;  // without white space around it
  int64_t segment = 0;
  bool is_final = false;  // a pause has ended it
};

/// Reads {"text", "segment", "is_final", ..}; "text" is required. UserError for anything else,
/// which it does not quote.
SherpaResult parse_sherpa_result(const Json& message, const std::string& where);

}  // namespace predgen
