#include "runtime/listen/heard_source.h"

namespace predgen {

std::optional<Transcript> HeardSource::wait_newer(int64_t revision, Clock&) {
  {
    const Baton::Rest rest(baton_);
    queue_.wait(revision, stop_);
  }
  // While it waited for the baton, more may have come. Whoever stops a turn and then sends a final
  // one means it for the next turn: take() asks for the stop first.
  return queue_.take(revision, stop_);
}

}  // namespace predgen
