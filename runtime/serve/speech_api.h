#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>

#include "runtime/serve/http.h"
#include "runtime/serve/realtime/realtime_host.h"

namespace predgen {

/// POST /v1/audio/speech: a text as sound, mono 16-bit samples at 24 kHz, sent sentence by sentence
/// as they are made. Thread-safe; borrows the host.
class SpeechApi {
 public:
  SpeechApi(const RealtimeHost& host, int64_t max_sessions)
      : host_(host), max_sessions_(max_sessions) {}

  /// ApiError for a request that cannot be spoken, or one too many. A voice that fails later is in
  /// the log, and Interrupted: the client sees that the sound is cut.
  void serve(const HttpRequest& request, HttpReply& reply, const std::stop_token& stop);

 private:
  const RealtimeHost& host_;
  const int64_t max_sessions_;
  std::atomic<int64_t> num_sessions_ = 0;
};

}  // namespace predgen
