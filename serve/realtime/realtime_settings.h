#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "hear/turn_taking.h"
#include "runtime/generate/generation_defaults.h"
#include "serve/api_error.h"
#include "serve/realtime/line_format.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"
#include "text/tools/tool_call.h"
#include "voice/voice.h"

namespace predgen::serve {

/// Those of a client's wishes that cannot be met, while the rest counts: a voice assistant that
/// loses its instructions to a field beside them is worse than one without that field.
class Refusals {
 public:
  /// Calls `read`, and notes the ApiError that it throws.
  template <typename Read>
  void attempt(Read read) {
    try {
      read();
    } catch (const ApiError& error) {
      list_.push_back(error);
    }
  }
  /// Notes the fields that were not asked for.
  void note_unknown(const RequestFields& fields) {
    for (const std::string& name : fields.not_known()) {
      note({.param = name, .code = "unknown_parameter"}, "unknown parameter: '" + name + "'");
    }
  }
  void note(ApiError::Kind kind, const std::string& message) {
    list_.emplace_back(std::move(kind), message);
  }

  bool empty() const { return list_.empty(); }
  const std::vector<ApiError>& list() const { return list_; }

 private:
  std::vector<ApiError> list_;
};

/// How a client wants spoken turns detected.
struct TurnDetection {
  /// Detected: "server_vad" or, with waits, "semantic_vad"; otherwise the client commits what it
  /// has sent.
  EndOfTurn end{};
  std::string eagerness = "auto";  // of "semantic_vad"
  bool creates_response = true;
  bool interrupts_response = true;  // by the first word

  /// As in session.created.
  Json json() const;
};

/// `before`, changed by the session's field `name`. `waits`: of the eagerness "auto". What cannot
/// be done is noted. ApiError, and nothing changes, for a kind of turn detection that is not
/// supported.
TurnDetection read_turn_detection(RequestFields& session, const std::string& name,
                                  const TurnDetection& before, const EndWaits& waits,
                                  Refusals& refusals);

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
