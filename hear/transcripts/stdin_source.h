#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "hear/transcripts/transcript_lines.h"
#include "hear/transcripts/transcript_queue.h"
#include "hear/transcripts/transcript_reader.h"

namespace predgen {

class StoppablePoll;

/// Live input: a person at a terminal or a recogniser at the end of a pipe. A thread reads lines
/// and stamps them with the clock; "time" in a line is ignored. Input that ends without a final
/// transcript makes the last one final. A transcript that a newer one of its turn has overtaken is
/// dropped, and the thread reads at most some hundred turns ahead.
class StdinSource : public TranscriptSource {
 public:
  /// kAuto: JSON lines unless it is a terminal or the first line does not begin with '{'.
  /// kPlainText: a line is a whole turn; blank lines are skipped.
  enum class Format { kAuto, kJsonLines, kPlainText };

  /// Reads file descriptor `fd`, which stays the caller's. The clock is read by the thread too: a
  /// SystemClock.
  StdinSource(int fd, Format format, const Clock& clock, std::stop_token stop);

  /// wait_newer() throws the UserError of a malformed line, which names its number, once everything
  /// before it was taken. Both throw Interrupted after a stop, wait_newer() at once.
  std::optional<Transcript> latest(Seconds now) override;
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;
  bool expects_words(Seconds /*now*/) override { return false; }

  /// Transcripts that it holds.
  size_t num_waiting() const { return queue_.size(); }

 private:
  void read_all(const StoppablePoll& poll, const std::stop_token& destroyed);
  void take_line(const std::string& line);

  const int fd_;
  Format format_;  // used by the reader only, as are the members below stop_
  const std::stop_token stop_;
  int64_t line_number_ = 0;
  TranscriptMessages messages_;
  RevisionFilter filter_;

  TranscriptQueue queue_;
  std::jthread reader_;  // last: it uses the members above
};

}  // namespace predgen
