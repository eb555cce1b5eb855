#pragma once

#include <vector>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// Transcripts whose times are known beforehand: typed prompts, recordings, files. Reads by the
/// clock and shows nothing before its time. Input that ends without a final one becomes final.
class ScheduledSource : public TranscriptSource {
 public:
  /// Times must not decrease (UserError). Revisions are numbered here: 1, 2, ..
  explicit ScheduledSource(std::vector<Transcript> transcripts);

  std::optional<Transcript> latest(Seconds now) override;
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override;

 private:
  std::vector<Transcript> transcripts_;
  size_t turn_begin_ = 0;  // after the last final one that was returned
};

}  // namespace predgen
