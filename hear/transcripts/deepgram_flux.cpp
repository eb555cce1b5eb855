#include "hear/transcripts/heard_turn.h"

namespace predgen {
namespace {

/// Deepgram's /v2/listen (https://developers.deepgram.com/docs/flux/state): a TurnInfo holds the
/// whole turn so far. EagerEndOfTurn and TurnResumed add nothing to their transcript: every one is
/// drafted from anyway.
class DeepgramFluxReader : public TranscriptReader {
 public:
  TranscriptLines take(const Json& message, const std::string& where) override {
    TranscriptLines lines;
    if (json_get<std::string>(message, "type", where) != "TurnInfo") return lines;
    const bool is_end = json_get<std::string>(message, "event", where) == "EndOfTurn";
    if (is_end || message.contains("transcript")) {
      turn_.revise(json_get<std::string>(message, "transcript", where));
    }
    is_end ? turn_.end(lines) : turn_.tell(lines);
    return lines;
  }

 private:
  HeardTurn turn_;
};

}  // namespace

std::unique_ptr<TranscriptReader> make_deepgram_flux_reader() {
  return std::make_unique<DeepgramFluxReader>();
}

}  // namespace predgen
