#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "hear/transcripts/transcript_reader.h"

namespace predgen {

/// Reads one speaker's messages from any speech service: Deepgram, AssemblyAI, sherpa-onnx and
/// RTVI. A message's own fields tell which service it is from. Used by one thread.
class TranscriptMessages {
 public:
  /// The new lines in a message, perhaps none; no value: not from any of these services. UserError
  /// beginning with `where` for a message that does not match its service's description.
  std::optional<TranscriptLines> read(const Json& message, const std::string& where);

  /// Whether it is sherpa-onnx's final message, which is not JSON and has no content.
  static bool is_farewell(std::string_view message) { return message == "Done!"; }

 private:
  std::map<std::string, std::unique_ptr<TranscriptReader>> readers_;  // by service
};

}  // namespace predgen
