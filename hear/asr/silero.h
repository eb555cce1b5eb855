#pragma once

#include "hear/asr/ears.h"
#include "hear/onnx/onnx_session.h"

namespace predgen::ears {

/// Silero's voice activity model (versions 5 and 6, MIT), with weights shared by all streams.
class Silero {
 public:
  /// UserError if the file is not that model.
  explicit Silero(const std::filesystem::path& file);

  /// Each hearer is for one stream. Borrows this.
  MakeHearVoice hearers();

 private:
  OnnxSession model_;
};

}  // namespace predgen::ears
