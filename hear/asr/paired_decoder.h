#pragma once

#include <memory>
#include <utility>

#include "hear/asr/decoder.h"
#include "hear/asr/moonshine_decoder.h"
#include "hear/asr/whisper_decoder.h"

namespace predgen::ears {

/// Two recognisers of one transcript: a fast one hears while somebody speaks, a careful one decides
/// the words of pauses and ends. What the fast one heard is the careful one's draft.
class PairedDecoder : public Decoder {
 public:
  PairedDecoder(std::unique_ptr<MoonshineDecoder> fast, std::unique_ptr<WhisperDecoder> careful)
      : fast_(std::move(fast)), careful_(std::move(careful)) {}

  DecoderPace pace() const override;
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) override;
  void forget(uint32_t stream) override;

 private:
  const std::unique_ptr<MoonshineDecoder> fast_;
  const std::unique_ptr<WhisperDecoder> careful_;
};

}  // namespace predgen::ears
