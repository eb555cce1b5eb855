#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "core/json.h"
#include "runtime/generate/generation_defaults.h"
#include "serve/realtime/line_format.h"
#include "serve/realtime/turn_detection.h"
#include "serve/tool_request.h"
#include "text/tools/tool_call.h"
#include "voice/voice.h"

namespace predgen::serve {

/// What a server offers its clients.
struct RealtimeOffer {
  std::string model;
  const Voice* voice = nullptr;  // borrowed; null: none
  int64_t max_new_tokens = 256;
  bool has_recogniser = false;
  bool has_voice_activity = false;  // the recogniser reports it, so "semantic_vad" is the default
  EndWaits waits{};                 // of "semantic_vad" with the eagerness "auto"
  bool has_tools = false;           // the model can call functions
  std::string language{};           // that the recogniser hears; empty: unknown
  GenerationDefaults sampling{};    // of the model
  bool may_sample = true;           // otherwise the verifier takes no draws
};

/// What a client has chosen for its session, or for one response of it.
struct RealtimeSettings {
  std::string instructions{};
  bool has_audio = false;  // sound with its transcript; otherwise text alone
  std::string voice{};
  double speed = 1;                            // of the voice, as Voice::synthesizer() takes it
  std::optional<int64_t> max_output_tokens{};  // nullopt: the server's limit
  TurnDetection turn_detection{};
  LineFormat input_format{}, output_format{};
  std::optional<SamplingConfig> sampling{};  // nullopt: greedy
  ToolSet tools{};
  ToolChoice tool_choice{};  // kNone: the model does not see the tools
  bool speculates = true;
  std::set<std::string> events{};  // extra ones the client wants, such as speculation

  /// As in session.created.
  Json json(const std::string& id, const RealtimeOffer& offer) const;
};

/// The voice that a client's name means, in an offer with one: OpenAI's names mean the first.
std::string voice_named(const std::string& name, const RealtimeOffer& offer);

/// Whether a client that asks for model `name` gets the offered one: by its own name, or by one of
/// OpenAI's, which its clients request by default.
bool is_model_named(const std::string& name, const RealtimeOffer& offer);

/// `before` with the fields of session.update's `session`, in today's names or those of the beta.
/// What is unknown or not supported is noted with the field's name, and changes nothing. ApiError
/// if it is no object.
RealtimeSettings updated(const Json& session, const RealtimeSettings& before,
                         const RealtimeOffer& offer, Refusals& refusals);

/// The settings of one response: those of its session with the fields of response.create's
/// `response`. `metadata`: what goes back with it. ApiError also if it is to be about other
/// messages than the conversation's.
RealtimeSettings for_response(const Json& response, const RealtimeSettings& session,
                              const RealtimeOffer& offer, Json& metadata, Refusals& refusals);

}  // namespace predgen::serve
