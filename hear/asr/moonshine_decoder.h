#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hear/asr/decoder.h"
#include "hear/asr/model_files.h"
#include "hear/onnx/onnx_session.h"

namespace predgen::ears {

/// Moonshine (English), greedy: each decode runs the segment from its beginning, in time that grows
/// with its sound (Whisper's grows with a window of many seconds). A segment's previous text drafts
/// its next one, as WhisperDecoder's does.
class MoonshineDecoder : public Decoder {
 public:
  /// UserError if it cannot be loaded, or is a different network.
  MoonshineDecoder(const ModelFiles& files, int num_threads);

  DecoderPace pace() const override { return {.period = kRate / 5, .mark = VoiceActivity::kPause}; }
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) override;
  void forget(uint32_t stream) override { texts_.erase(stream); }

 private:
  using Tokens = std::vector<int64_t>;
  /// What the decoder keeps of the sound and of the tokens before: keys and values, by the names of
  /// its inputs.
  struct Cache {
    OnnxOutput sound{};                          // the encoder's
    std::map<std::string, OnnxOutput> values{};  // empty: no token was decoded yet
    std::vector<double> certainties{};           // of the tokens after each place
  };

  void read_pieces(const std::filesystem::path& file);
  Tokens likeliest_next(std::span<const int64_t> tokens, int64_t offset, Cache& cache,
                        const std::stop_token& stop) const;
  std::string text_of(const Tokens& tokens) const;
  std::vector<double> certainties_of_words(const Tokens& tokens,
                                           std::span<const double> certainties) const;

  OnnxSession encoder_, decoder_;
  std::vector<std::string> past_;            // inputs for keys and values
  std::vector<std::string> pieces_;          // of the tokens
  std::map<uint32_t, SegmentTokens> texts_;  // by stream
};

}  // namespace predgen::ears
