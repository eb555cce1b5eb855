#pragma once

#include <optional>
#include <string>

#include "core/clock.h"
#include "hear/transcripts/transcript_source.h"

namespace predgen {

/// Whether somebody who was asked whether to do something says yes, and nothing else: at most six
/// words that begin with one of "yes", "ok", "please do" and their like in some languages, without
/// a no, a but or a wait.
bool is_consent(const std::string& words);

/// The words of a turn, which ends without an answer if they are a yes to what was asked. `until`:
/// when they must be final for that; nullopt: nothing was asked. Borrows the source.
class ConsentSource : public TranscriptSource {
 public:
  ConsentSource(TranscriptSource& source, std::optional<Seconds> until)
      : source_(source), until_(until) {}

  std::optional<Transcript> latest(Seconds now) override { return source_.latest(now); }
  std::optional<Transcript> wait_newer(int64_t revision, Clock& clock) override {
    std::optional<Transcript> newest = source_.wait_newer(revision, clock);
    const bool is_answer = until_ && newest && newest->is_final && newest->time <= *until_;
    if (!is_answer || !is_consent(newest->text)) return newest;
    yes = *newest;
    return std::nullopt;
  }

  std::optional<Transcript> yes;

 private:
  TranscriptSource& source_;
  const std::optional<Seconds> until_;
};

}  // namespace predgen
