#pragma once

#include <memory>
#include <string>

#include "helpers/ears/decoder.h"
#include "helpers/ears/model_files.h"

struct SherpaOnnxOfflineRecognizer;

namespace predgen::ears {

/// Whisper through sherpa-onnx, greedy: each decode hears the segment from its beginning.
class WhisperDecoder : public Decoder {
 public:
  /// `language`: a code that check_language() takes. UserError if it cannot be loaded; where
  /// sherpa-onnx does not like a file, it ends the program instead.
  WhisperDecoder(const ModelFiles& files, const std::string& language, int num_threads);
  ~WhisperDecoder() override;

  DecoderPace pace() const override { return {}; }
  Decoded decode(const DecodeJob& job) override;
  void forget(uint32_t) override {}

 private:
  struct Settings;
  const std::unique_ptr<Settings> settings_;
  const SherpaOnnxOfflineRecognizer* recogniser_;
};

}  // namespace predgen::ears
