#include "hear/transcripts/transcript_messages.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/error.h"

namespace predgen {
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
