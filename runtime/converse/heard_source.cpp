#include "runtime/converse/heard_source.h"

namespace predgen {

std::optional<Transcript> HeardSource::wait_newer(int64_t revision, Clock&) {
  {
    const Baton::Rest rest(baton_);
    queue_.wait(revision, stop_);
  }
  // More may have come while this waited for the baton. A final transcript sent after a stop is
  // meant for the next turn: take() checks for the stop first.
  return queue_.take(revision, stop_);
}

}  // namespace predgen
