#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "core/config.h"
#include "core/json.h"
#include "core/mutex.h"
#include "evaluate/eval_config.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

/// What an unfinished run has done so far, a line of JSON for each part, so that a killed run can
/// resume. Thread-safe.
class Journal {
 public:
  /// Continues the file if it exists, without a torn last line. `identity`: a hash of everything
  /// that decides the parts. UserError if the file has a different one, unless `restart`.
  Journal(std::filesystem::path file, const std::string& identity, bool restart);

  /// nullopt: not done yet.
  std::optional<Json> find(const std::string& key) const;
  /// The part is in the file when this returns. Error if it cannot be written.
  void append(const std::string& key, const Json& value);
  /// Deletes the file: the run is complete.
  void remove();

 private:
  void read() REQUIRES(mutex_);

  const std::filesystem::path file_;
  mutable Mutex mutex_;
  std::map<std::string, Json> parts_ GUARDED_BY(mutex_);
  std::ofstream stream_ GUARDED_BY(mutex_);
};

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

struct RunOptions {
  std::string version;   // of the program: a different one starts over
  bool restart = false;  // drops what an unfinished run has left
};

/// Runs every model at every cost on all turns, writes the report into the configuration's output
/// and returns it. Finished turns are kept in a journal there until then, and a run of the same
/// configuration, turns, weights and version resumes after them. `reader` has read `config`.
/// UserError for what cannot be run. Interrupted after a stop. Runs on LibTorch's threads: the
/// caller sets the configured number.
Json run_evaluation(const EvalConfig& config, const ConfigReader& reader, const RunOptions& options,
                    const std::stop_token& stop);

}  // namespace predgen::evaluate
