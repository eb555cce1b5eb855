#include <optional>

#include "hear/transcripts/heard_turn.h"

namespace predgen {
namespace {

/// AssemblyAI's Universal-Streaming (https://assemblyai.com/docs/streaming/message-sequence): a
/// Turn holds the whole turn so far. With format_turns its end is sent again later, with
/// punctuation: the first one is used.
class AssemblyAiReader : public TranscriptReader {
 public:
  TranscriptLines take(const Json& message, const std::string& where) override {
    TranscriptLines lines;
    const auto type = json_get<std::string>(message, "type", where);
    if (type == "Begin") ended_.reset();  // turns count from 0 again
    if (type != "Turn") return lines;
    const auto order = json_get<int64_t>(message, "turn_order", where);
    if (ended_ && order <= *ended_) return lines;
    turn_.revise(json_get<std::string>(message, "transcript", where));
    const bool is_end = json_get<bool>(message, "end_of_turn", where);
    if (is_end) ended_ = order;
    is_end ? turn_.end(lines) : turn_.tell(lines);
    return lines;
  }

 private:
  HeardTurn turn_;
  std::optional<int64_t> ended_;
};

}  // namespace

std::unique_ptr<TranscriptReader> make_assembly_ai_reader() {
  return std::make_unique<AssemblyAiReader>();
}

}  // namespace predgen
