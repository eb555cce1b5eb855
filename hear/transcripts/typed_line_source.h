#pragma once

#include <optional>
#include <stop_token>
#include <string_view>

#include "hear/transcripts/transcript_queue.h"

namespace predgen {

/// A line that a person is typing, as transcripts while it grows. Every edit that completes or
/// changes a word makes a new one; the line as sent is the final one.
///
/// A word still being typed is withheld: the last one until white space or one of . ? ! follows it,
/// an earlier one until the cursor has left it, in both cases only until no key has come for 0.2 s,
/// when the line is stable. Chinese and Japanese put no spaces between words, so their characters
/// count as words of their own. White space around the line is dropped.
class TypedLineSource : public TranscriptSource {
 public:
  /// Both threads read the clock: a SystemClock, which outlives this. A `stop` ends waiting with
  /// Interrupted.
  explicit TypedLineSource(const Clock& clock, std::stop_token stop = {})
      : clock_(clock), stop_(std::move(stop)), queue_(clock) {}

  /// The editor's thread: the line as it stands, well-formed UTF-8, and the cursor's byte in it.
  /// Call it after any change of either.
  void edit(std::string_view line, size_t cursor);
  /// The editor's thread: the line was sent.
  void commit(std::string_view line);
  /// The editor's thread: wait_newer() returns nothing, once, after the lines sent before; what was
  /// typed since is forgotten. For a command that the runtime's thread is to run between turns.
  void break_turn() { queue_.push_break(); }
  /// The editor's thread: wait_newer() returns nothing from here on, after the lines sent before.
  void close();

  /// The runtime's thread.
  std::optional<Transcript> latest(Seconds now) override;
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;
  bool expects_words(Seconds /*now*/) override { return false; }

 private:
  const Clock& clock_;
  const std::stop_token stop_;
  TranscriptQueue queue_;
};

}  // namespace predgen
