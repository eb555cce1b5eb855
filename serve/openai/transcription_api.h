#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "serve/http/http.h"
#include "serve/realtime/realtime_host.h"
#include "serve/slots.h"

namespace predgen::serve {

enum class TranscriptForm { kJson, kText, kVerbose, kSubtitles, kWebSubtitles };

/// A form sent to /v1/audio/transcriptions.
struct TranscriptionRequest {
  std::string_view file;  // of the body
  TranscriptForm form = TranscriptForm::kJson;
  bool stream = false;
};

/// Borrows the body. ApiError, which names the field, for what cannot be honoured: another language
/// than the host hears, times of words, who speaks; and for fields that are not known.
TranscriptionRequest parse_transcription_request(std::string_view body,
                                                 std::string_view content_type,
                                                 const RealtimeHost& host);

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
