#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/token_ids.h"

namespace predgen::data {

/// One block of a Jacobi trajectory: `states` are its iterates, from the untouched random guess to
/// the fixed point (last); all have n tokens; the last block of an answer may end in tokens after
/// the stop token, which must not be trained on.
struct TrajectoryBlock {
  std::vector<TokenIds> states;
};

/// One training example.
struct Record {
  std::string conversation_id;
  int64_t round = 0;               // index of the last user turn
  TokenIds tokens;                 // prompt, answer, stop token
  std::vector<uint8_t> loss_mask;  // same size; 1: this token is a target of the cross-entropy
  int64_t prompt_length = 0;       // where the last answer begins in `tokens`; all of them if
                                   // there is none
  /// Where questions begin that stand alone: each sees the tokens before the first of them, and
  /// itself. Ascending, within (0, tokens); empty: all is one sequence.
  std::vector<int64_t> branches;
  std::vector<TrajectoryBlock> blocks;  // empty unless `data trajectories` made it. Block b covers
                                        // answer positions [b*n, (b+1)*n) after the prompt
};

/// Appends records to HDF5 shards in a folder. A shard is written under a temporary name, flushed,
/// fsynced and renamed; `manifest.json` is written by finish(). After a kill, resume() keeps every
/// finished shard. Used by one thread.
class DatasetWriter {
 public:
  virtual ~DatasetWriter() = default;
  virtual void append(const Record& record) = 0;
  /// Writes remaining records and the manifest with `counters` (rows read, dropped by rule, ...).
  virtual void finish(const Json& counters) = 0;
  /// Records already on disk: how many to skip after a resume.
  virtual int64_t size() const = 0;
};

/// The sizes of a record.
struct RecordSize {
  struct Block {
    int64_t tokens = 0;      // per state
    int64_t num_states = 0;  // the fixed point included
  };
  int64_t tokens = 0;         // prompt and answer
  int64_t prompt_length = 0;  // within `tokens`
  bool has_branches = false;  // Record::branches
  std::vector<Block> blocks{};
};

/// Random access to a finished dataset. Thread-safe.
class DatasetReader {
 public:
  virtual ~DatasetReader() = default;
  virtual int64_t size() const = 0;
  /// `index` in [0, size()).
  virtual Record read(int64_t index) const = 0;
  /// From the index in memory, without reading the record.
  virtual RecordSize size_of(int64_t index) const = 0;
  virtual const Json& manifest() const = 0;
};

struct StoreOptions {
  int64_t records_per_shard = 4096;
  bool resume = false;  // continue an unfinished folder of the same recipe
};

/// `recipe`: everything that changes tokens (sources with hashes, filter, seed, law, tokenizer
/// hash, builder version); its hash identifies the dataset. UserError if the folder holds another
/// recipe (the difference is shown) or is not empty and `resume` is off.
std::unique_ptr<DatasetWriter> create_dataset(const std::filesystem::path& folder,
                                              const Json& recipe, const StoreOptions& options);
/// UserError if there is no manifest (the build did not finish), or a shard is missing, truncated
/// or not what the manifest says.
std::unique_ptr<DatasetReader> open_dataset(const std::filesystem::path& folder);
/// Opens datasets as one, concatenated; manifest() is the list of theirs. `folders` is not empty.
std::unique_ptr<DatasetReader> open_datasets(const std::vector<std::filesystem::path>& folders);

}  // namespace predgen::data
