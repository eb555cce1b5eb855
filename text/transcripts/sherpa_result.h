#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace predgen {

/// What a streaming server of sherpa-onnx says of a segment so far. Those written in Python only
/// count segments.
struct SherpaResult {
  std::string text;  // without white space around it
  int64_t segment = 0;
  bool is_final = false;  // a pause has ended it
};

/// Reads {"text", "segment", "is_final", ..}, of which the text must be there. UserError for what
/// is none; it quotes nothing of it.
SherpaResult parse_sherpa_result(const Json& message, const std::string& where);

}  // namespace predgen
