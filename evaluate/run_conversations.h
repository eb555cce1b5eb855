#pragma once

#include <functional>
#include <string>

#include "evaluate/journal.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

/// Runs the conversation of turns [begin, end) with every method; used by one thread.
using RunConversation = std::function<EvalRun(size_t begin, size_t end)>;

/// How many turns of the set the journal already has as parts of `name`.
size_t count_done_turns(const TurnSet& set, const std::string& name, const Journal& journal);

/// Runs what the journal lacks, parts called "`name` <first turn>", on `num_workers` threads, each
/// with what `make_worker` makes on that thread, and returns {"rows", "failed"} in the order of
/// the set, however the work was scheduled. `on_done` gets the number of turns of each part that
/// ran, never from two threads at once. The first error ends the run; UserError if every turn
/// failed.
Json run_conversations(const TurnSet& set, const std::string& name, int64_t num_workers,
                       const std::function<RunConversation()>& make_worker, Journal& journal,
                       const std::function<void(size_t num_turns)>& on_done);

}  // namespace predgen::evaluate
