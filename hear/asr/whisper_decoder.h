#pragma once

#include <map>
#include <string>
#include <vector>

#include "hear/asr/decoder.h"
#include "hear/asr/log_mel.h"
#include "hear/asr/model_files.h"
#include "hear/asr/paired_decoder.h"
#include "hear/onnx/onnx_session.h"

namespace predgen::ears {

/// Whisper in sherpa-onnx's format, greedy: each decode runs the segment from its beginning. A
/// segment's previous text drafts its next one, which the decoder verifies in a pass or two instead
/// of one per token.
class WhisperDecoder : public DraftedDecoder {
 public:
  /// `language`: a code that check_language() takes. UserError if it cannot be loaded; decode()
  /// throws Error if the networks are different ones.
  WhisperDecoder(const ModelFiles& files, const std::string& language, int num_threads);

  DecoderPace pace() const override { return {.period = kRate * 3 / 10}; }
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) override;
  void forget(uint32_t stream) override { texts_.erase(stream); }
  void draft(const DecodeJob& job, const std::string& text) override;

 private:
  using Tokens = std::vector<int64_t>;
  /// The keys and values of the decoder's attention.
  struct Cache {
    OnnxOutput keys, values;
  };

  void read_tokens(const std::filesystem::path& file);
  /// The frames of the window for so many of sound.
  int64_t padded(int64_t num_frames) const;
  Cache encode(std::span<const float> sound, const std::stop_token& stop);
  Tokens likeliest_next(std::span<const int64_t> tokens, int64_t offset, const Cache& sound,
                        Cache& past, const std::stop_token& stop);
  int64_t width_of_layers() const { return num_layers_ * width_; }

  OnnxSession encoder_, decoder_;
  const int64_t num_layers_, width_, context_, num_tokens_, end_;
  const int64_t silence_;  // frames behind the sound that the encoder needs; 0: it does not say
  const LogMel log_mel_;
  const Tokens prompt_;
  // Keys, and values, before the first token: as many as sherpa-onnx gives, whose own models take
  // no other number; what is after the offset does not count.
  const std::vector<float> no_past_;
  TokenTexts token_texts_;
  std::map<uint32_t, SegmentTokens> texts_;  // by stream
};

}  // namespace predgen::ears
