#pragma once

#include <map>
#include <memory>
#include <string>

#include "hear/asr/decoder.h"
#include "hear/asr/model_files.h"

struct SherpaOnnxOnlineRecognizer;
struct SherpaOnnxOnlineStream;

namespace predgen::ears {

/// A streaming transducer through sherpa-onnx: each decode runs only the new part of the segment.
/// Its own end-of-segment detection counts, too.
class StreamingDecoder : public Decoder {
 public:
  /// As WhisperDecoder's.
  StreamingDecoder(const ModelFiles& files, int num_threads);
  ~StreamingDecoder() override;

  DecoderPace pace() const override;
  /// Runs to its end: with 0.1 s of new sound at a time that is soon.
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) override;
  void forget(uint32_t stream) override { streams_.erase(stream); }

 private:
  struct Delete {
    void operator()(const SherpaOnnxOnlineStream* stream) const;
  };
  struct Stream {
    int64_t segment = -1;
    size_t num_taken = 0;  // samples of the segment
    std::unique_ptr<const SherpaOnnxOnlineStream, Delete> stream{};
  };
  void decode_ready(const SherpaOnnxOnlineStream* stream) const;

  const SherpaOnnxOnlineRecognizer* recogniser_;
  std::map<uint32_t, Stream> streams_;
};

}  // namespace predgen::ears
