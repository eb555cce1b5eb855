#include "hear/transcripts/transcript_reader.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "text/words.h"

namespace predgen {

void HeardTurn::revise(std::string_view segment) { open_ = trimmed(segment); }

void HeardTurn::finish_segment() {
  if (finished_.size() <= kMaxTurnBytes) finished_ = joined_words(finished_, open_);
  open_.clear();
}

void HeardTurn::tell(TranscriptLines& lines) {
  const std::string text = joined_words(finished_, open_);
  if (text == told_) return;
  told_ = text;
  lines.push_back({.text = text});
}

void HeardTurn::end(TranscriptLines& lines) {
  finish_segment();
  if (finished_.empty()) {
    tell(lines);  // what was reported was no speech
  } else {
    lines.push_back({.text = finished_, .is_final = true});
  }
  *this = {};
}

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

SherpaResult parse_sherpa_result(const Json& message, const std::string& where) {
  const auto text = message.find("text"), segment = message.find("segment"),
             is_final = message.find("is_final");
  if (text == message.end()) fail_json_key("text", where, "is missing");
  if (!text->is_string()) fail_json_key("text", where, "is no text");
  SherpaResult result{.text = std::string(trimmed(text->get_ref<const std::string&>()))};
  if (segment != message.end()) {
    if (!segment->is_number_integer()) fail_json_key("segment", where, "is no whole number");
    result.segment = segment->get<int64_t>();
  }
  if (is_final != message.end()) {
    if (!is_final->is_boolean()) fail_json_key("is_final", where, "is neither true nor false");
    result.is_final = is_final->get<bool>();
  }
  return result;
}

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

namespace {

bool has_type(const Json& message, std::initializer_list<const char*> types) {
  const auto type = message.find("type");
  return type != message.end() &&
         std::ranges::any_of(types, [&](const char* name) { return *type == name; });
}

bool is_rtvi(const Json& message) {
  const auto label = message.find("label");
  return label != message.end() && *label == "rtvi-ai" && message.contains("type");
}

struct Service {
  const char* name;
  bool (*sends)(const Json& message);
  std::unique_ptr<TranscriptReader> (*make_reader)();
};

/// The first service that sends such messages is chosen.
const std::array kServices{
    Service{"RTVI", is_rtvi, make_rtvi_reader},
    Service{"Deepgram Flux",
            [](const Json& message) {
              return has_type(message, {"TurnInfo", "Connected", "ConfigureSuccess"});
            },
            make_deepgram_flux_reader},
    Service{"Deepgram",
            [](const Json& message) {
              return has_type(message, {"Results", "UtteranceEnd", "SpeechStarted", "Metadata"});
            },
            make_deepgram_results_reader},
    Service{"AssemblyAI",
            [](const Json& message) {
              return has_type(message, {"Turn", "Begin", "SpeakerRevision", "Termination"});
            },
            make_assembly_ai_reader},
    Service{"sherpa-onnx",
            [](const Json& message) {
              return !message.contains("type") && message.contains("text") &&
                     message.contains("segment");
            },
            make_sherpa_onnx_reader},
};

}  // namespace

std::optional<TranscriptLines> TranscriptMessages::read(const Json& message,
                                                        const std::string& where) {
  if (!message.is_object()) return std::nullopt;
  const auto service = std::ranges::find_if(
      kServices, [&](const Service& candidate) { return candidate.sends(message); });
  if (service == kServices.end()) return std::nullopt;
  std::unique_ptr<TranscriptReader>& reader = readers_[service->name];
  if (!reader) reader = service->make_reader();
  return reader->take(message, fmt::format("{} ({})", where, service->name));
}

}  // namespace predgen
