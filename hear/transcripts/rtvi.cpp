#include "hear/transcripts/heard_turn.h"

namespace predgen {
namespace {

/// RTVI (https://docs.pipecat.ai/api-reference/standards/rtvi-standard): a user-transcription is
/// for one segment, which `final` closes. The turn ends when the user has stopped speaking and all
/// of it is final, whichever comes later. Servers may omit speaking events: then each segment is a
/// turn.
class RtviReader : public TranscriptReader {
 public:
  TranscriptLines take(const Json& message, const std::string& where) override {
    TranscriptLines lines;
    const auto type = json_get<std::string>(message, "type", where);
    if (type == "user-started-speaking") is_speaking_ = true;
    if (type == "user-stopped-speaking") is_speaking_ = false;
    if (type == "user-transcription") {
      const auto data = json_get<Json>(message, "data", where);
      turn_.revise(json_get<std::string>(data, "text", where));
      if (json_get<bool>(data, "final", where)) turn_.finish_segment();
    }
    const bool is_end = !is_speaking_ && !turn_.is_open() && turn_.has_segments();
    is_end ? turn_.end(lines) : turn_.tell(lines);
    return lines;
  }

 private:
  HeardTurn turn_;
  bool is_speaking_ = false;
};

}  // namespace

std::unique_ptr<TranscriptReader> make_rtvi_reader() { return std::make_unique<RtviReader>(); }

}  // namespace predgen
