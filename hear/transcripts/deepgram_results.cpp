#include "core/error.h"
#include "hear/transcripts/heard_turn.h"

namespace predgen {
namespace {

/// Deepgram's /v1/listen
/// (https://developers.deepgram.com/docs/understand-endpointing-interim-results): Results are for
/// one segment, which is_final closes. A turn ends with speech_final, with an answer to the
/// client's own Finalize, or, if noise hides the pause, with UtteranceEnd.
class DeepgramResultsReader : public TranscriptReader {
 public:
  TranscriptLines take(const Json& message, const std::string& where) override {
    TranscriptLines lines;
    const auto type = json_get<std::string>(message, "type", where);
    if (type == "Results") {
      take_results(message, where, lines);
    } else if (type == "UtteranceEnd") {
      check_channel(message, "channel", where);
      // A late one must not end the next turn, which has no closed segment yet.
      if (turn_.has_segments()) turn_.end(lines);
    }
    return lines;
  }

 private:
  void take_results(const Json& message, const std::string& where, TranscriptLines& lines) {
    check_channel(message, "channel_index", where);
    const auto alternatives =
        json_get<Json>(json_get<Json>(message, "channel", where), "alternatives", where);
    if (!alternatives.is_array() || alternatives.empty()) {
      fail_json_key("alternatives", where, "must be a list with the transcript");
    }
    turn_.revise(json_get<std::string>(alternatives[0], "transcript", where));
    const bool is_final = flag(message, "is_final", where);
    if (is_final) turn_.finish_segment();
    const bool is_end =
        is_final && (flag(message, "speech_final", where) || flag(message, "from_finalize", where));
    is_end ? turn_.end(lines) : turn_.tell(lines);
  }

  static bool flag(const Json& message, const char* key, const std::string& where) {
    return message.contains(key) && json_get<bool>(message, key, where);
  }

  /// [channel, number of channels]
  static void check_channel(const Json& message, const char* key, const std::string& where) {
    if (!message.contains(key)) return;
    const Json& channel = message[key];
    if (channel.is_array() && !channel.empty() && channel[0] == 0) return;
    throw UserError("{}: '{}' is {}: send the messages of channel 0 only, one speaker's", where,
                    key, channel.dump());
  }

  HeardTurn turn_;
};

}  // namespace

std::unique_ptr<TranscriptReader> make_deepgram_results_reader() {
  return std::make_unique<DeepgramResultsReader>();
}

}  // namespace predgen
