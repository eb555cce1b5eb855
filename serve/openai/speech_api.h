#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "serve/http/http.h"
#include "serve/realtime/realtime_host.h"
#include "serve/slots.h"

namespace predgen::serve {

/// POST /v1/audio/speech: a text as sound, mono at 24 kHz, in one of sound_formats(), sent sentence
/// by sentence as it is made, as a file or in events. Thread-safe; borrows the host.
class SpeechApi {
 public:
  SpeechApi(const RealtimeHost& host, int64_t max_sessions) : host_(host), slots_(max_sessions) {}

  /// ApiError for a request that cannot be spoken, or one too many. `client`: who sends it. A voice
  /// that fails before its first sound throws; a later failure is logged and throws Interrupted:
  /// the client sees that the sound is cut.
  void serve(const HttpRequest& request, const std::string& client, HttpReply& reply,
             const std::stop_token& stop);

 private:
  const RealtimeHost& host_;
  Slots slots_;
};

}  // namespace predgen::serve
