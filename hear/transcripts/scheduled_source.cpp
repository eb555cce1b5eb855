#include "hear/transcripts/scheduled_source.h"

#include <utility>

#include "core/error.h"

namespace predgen {

ScheduledSource::ScheduledSource(std::vector<Transcript> transcripts)
    : transcripts_(std::move(transcripts)) {
  for (size_t i = 0; i < transcripts_.size(); ++i) {
    if (i > 0 && transcripts_[i].time < transcripts_[i - 1].time) {
      throw UserError(
          "transcript {} of {} arrives at {} s, before the one in front of it: sort them", i + 1,
          transcripts_.size(), transcripts_[i].time.count());
    }
    transcripts_[i].revision = static_cast<int64_t>(i) + 1;
  }
  if (!transcripts_.empty()) transcripts_.back().is_final = true;
}

std::optional<Transcript> ScheduledSource::latest(Seconds now) {
  std::optional<Transcript> newest;
  for (size_t i = turn_begin_; i < transcripts_.size() && transcripts_[i].time <= now; ++i) {
    newest = transcripts_[i];
    if (newest->is_final) break;
  }
  return newest;
}

std::optional<Transcript> ScheduledSource::wait_newer(int64_t revision, Clock& clock) {
  const size_t next = std::max(turn_begin_, static_cast<size_t>(revision));  // revision n is at n-1
  if (next >= transcripts_.size()) return std::nullopt;
  clock.sleep_until(transcripts_[next].time);
  std::optional<Transcript> newest = latest(clock.now());
  if (newest && newest->is_final) turn_begin_ = static_cast<size_t>(newest->revision);
  return newest;
}

}  // namespace predgen
