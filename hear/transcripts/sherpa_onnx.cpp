#include <optional>

#include "hear/transcripts/heard_turn.h"
#include "hear/transcripts/sherpa_result.h"

namespace predgen {
namespace {

/// The streaming servers of sherpa-onnx: a segment ends at a pause, which is the turn's end.
/// sherpa-onnx-online-websocket-server says so by is_final (sherpa-onnx/csrc/online-recognizer.cc);
/// python-api-examples/streaming_server.py does not; it only counts the next segment.
class SherpaOnnxReader : public TranscriptReader {
 public:
  TranscriptLines take(const Json& message, const std::string& where) override {
    TranscriptLines lines;
    const SherpaResult result = parse_sherpa_result(message, where);
    if (result.segment != segment_.value_or(result.segment)) turn_.end(lines);
    segment_ = result.segment;
    turn_.revise(result.text);
    result.is_final ? turn_.end(lines) : turn_.tell(lines);
    return lines;
  }

 private:
  HeardTurn turn_;
  std::optional<int64_t> segment_;
};

}  // namespace

std::unique_ptr<TranscriptReader> make_sherpa_onnx_reader() {
  return std::make_unique<SherpaOnnxReader>();
}

}  // namespace predgen
