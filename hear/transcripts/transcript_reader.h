#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "hear/transcripts/transcript_line.h"

namespace predgen {

using TranscriptLines = std::vector<TranscriptLine>;

/// Understands what one speech service sends over one connection, message by message.
class TranscriptReader {
 public:
  virtual ~TranscriptReader() = default;

  /// The new lines in a message: everything heard of the turn so far, or of two turns if it ends
  /// one by beginning the next. UserError beginning with `where` for a message that does not match
  /// the service's description.
  virtual TranscriptLines take(const Json& message, const std::string& where) = 0;
};

// One per service, named after its file and its messages.
std::unique_ptr<TranscriptReader> make_assembly_ai_reader();
std::unique_ptr<TranscriptReader> make_deepgram_flux_reader();
std::unique_ptr<TranscriptReader> make_deepgram_results_reader();
std::unique_ptr<TranscriptReader> make_rtvi_reader();
std::unique_ptr<TranscriptReader> make_sherpa_onnx_reader();

}  // namespace predgen
