#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/http/http.h"
#include "serve/realtime/realtime_host.h"
#include "serve/slots.h"

namespace predgen::serve {

/// POST /v1/audio/transcriptions: what is said in a sound file, by the recogniser that hears the
/// conversations. Thread-safe; borrows the host.
class TranscriptionApi {
 public:
  TranscriptionApi(const RealtimeHost& host, int64_t max_sessions)
      : host_(host), slots_(max_sessions), uploads_(kUploads) {}

  /// A slot for a file that is about to come. ApiError if too many are under way.
  std::shared_ptr<const void> begin_upload(const std::string& client);
  /// ApiError for a request that cannot be understood, sound that cannot be read, a recogniser that
  /// fails, or one recording too many. `client`: who sends it.
  void serve(const HttpRequest& request, const std::string& client, HttpReply& reply,
             const std::stop_token& stop);

 private:
  static constexpr int64_t kUploads = 4;  // files that are in memory

  const RealtimeHost& host_;
  Slots slots_, uploads_;
};

}  // namespace predgen::serve
