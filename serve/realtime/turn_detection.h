#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "hear/end_of_turn.h"
#include "serve/api_error.h"
#include "serve/request_fields.h"

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

}  // namespace predgen::serve
