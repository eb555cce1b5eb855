#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "text/transcripts/transcript_reader.h"

namespace predgen {

/// The messages of speech services as they come, of one speaker: Deepgram, AssemblyAI, sherpa-onnx
/// and RTVI. A message's own fields say whose it is. Used by one thread.
class TranscriptMessages {
 public:
  /// What is new in a message, perhaps nothing; no value: it is none of theirs. UserError beginning
  /// with `where` for one that is not as its service describes it.
  std::optional<TranscriptLines> read(const Json& message, const std::string& where);

  /// Whether it is what sherpa-onnx ends with, which is no JSON and says nothing.
  static bool is_farewell(std::string_view message) { return message == "Done!"; }

 private:
  std::map<std::string, std::unique_ptr<TranscriptReader>> readers_;  // by service
};

}  // namespace predgen
