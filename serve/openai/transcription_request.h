#pragma once

#include <string>
#include <string_view>

#include "serve/realtime/realtime_host.h"

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

}  // namespace predgen::serve
