#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "hear/transcripts/transcript_lines.h"

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

/// What was heard of a turn, in segments: all but the last are final. Once they exceed
/// kMaxTurnBytes, which no receiver accepts, further segments are not kept.
class HeardTurn {
 public:
  /// Replaces the last segment with its current text.
  void revise(std::string_view segment);
  /// Finishes the last segment; the next one begins.
  void finish_segment();
  /// Whether any segment is finished.
  bool has_segments() const { return !finished_.empty(); }
  /// Whether a segment is under way.
  bool is_open() const { return !open_.empty(); }

  /// Adds a line with everything heard so far, if that is new.
  void tell(TranscriptLines& lines);
  /// Adds the turn's last line, if anything was said. The next turn begins.
  void end(TranscriptLines& lines);

 private:
  std::string finished_, open_;
  std::string told_;  // by the last line
};

/// What a sherpa-onnx streaming server reports of a segment so far. The servers written in Python
/// only count segments.
struct SherpaResult {
  std::string text;  // without white space around it
  int64_t segment = 0;
  bool is_final = false;  // a pause has ended it
};

/// Reads {"text", "segment", "is_final", ..}; "text" is required. UserError for anything else,
/// which it does not quote.
SherpaResult parse_sherpa_result(const Json& message, const std::string& where);

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
