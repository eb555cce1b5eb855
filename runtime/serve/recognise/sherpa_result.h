#pragma once

#include <string_view>

#include "runtime/serve/recognise/recogniser.h"

namespace predgen {

/// Reads a result of sherpa-onnx's streaming servers, {"text", "segment", "is_final", ..}.
/// UserError for what is none; it quotes nothing of it.
RecognisedSegment parse_sherpa_result(std::string_view message);

}  // namespace predgen
