#pragma once

#include <optional>
#include <string>

#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// Whether somebody who was asked whether to do something says yes, and nothing else: at most six
/// words that begin with one of "yes", "ok", "please do" and their like in some languages, without
/// a no, a but or a wait.
bool is_consent(const std::string& words);

/// The words of a turn, which ends without an answer if they are a yes to what was asked. Borrows
/// the source.
class ConsentSource : public TranscriptSource {
 public:
  ConsentSource(TranscriptSource& source, bool was_asked)
      : source_(source), was_asked_(was_asked) {}

  std::optional<Transcript> latest(Seconds now) override { return source_.latest(now); }
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override {
    std::optional<Transcript> newest = source_.wait_newer(revision, clock);
    if (!was_asked_ || !newest || !newest->is_final || !is_consent(newest->text)) return newest;
    yes = *newest;
    return std::nullopt;
  }

  std::optional<Transcript> yes;

 private:
  TranscriptSource& source_;
  const bool was_asked_;
};

}  // namespace predgen
