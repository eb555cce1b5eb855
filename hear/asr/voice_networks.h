#pragma once

#include "hear/asr/ears.h"
#include "hear/asr/log_mel.h"
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

/// Pipecat's smart-turn (version 3, BSD-2): how likely a turn is over, by its last 8 seconds.
class SmartTurn {
 public:
  /// UserError if the file is not that model.
  explicit SmartTurn(const std::filesystem::path& file);

  /// At kRate, up to Ear::kTurnSound samples, including the silence after the last word.
  double probability(std::span<const float> sound);

 private:
  LogMel log_mel_;
  OnnxSession model_;
};

}  // namespace predgen::ears
