#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/dataset_store.h"

namespace predgen::data {

// Layout of a dataset folder. shard-00000.h5, ...: flat columns and their offsets (one more than
// entries), readable with h5py:
//   conversation_id (UTF-8 bytes), conversation_id_offsets; round; prompt_length
//   tokens (int32), loss_mask (uint8), token_offsets
//   branches, branch_offsets: of records that have any; older shards lack both
//   block_offsets: blocks of a record; state_offsets: states of a block;
//   state_token_offsets: where a state begins in state_tokens (int32)
//   attributes recipe_hash and state: the counters of a trajectory piece, else null
// recipe.json while the build runs; manifest.json, written last, once it is complete.

/// UserError that says how the folder's recipe `there` differs from `here`.
void check_same_recipe(const std::filesystem::path& folder, const Json& there, const Json& here);

/// Whether the folder holds a finished dataset of exactly this recipe.
bool dataset_is_complete(const std::filesystem::path& folder, const Json& recipe);

/// XXH3-128 of a file's bytes, read in pieces.
std::string hash_file(const std::filesystem::path& file);

/// [{"file": name, "hash": hash_file()}, ..], as recipes list their sources.
Json hash_files(const std::vector<std::filesystem::path>& files);

std::string recipe_hash(const Json& recipe);

/// Records as flat columns: the contents of a shard.
struct RecordColumns {
  std::vector<uint8_t> conversation_id, loss_mask;
  std::vector<int32_t> tokens, state_tokens;
  std::vector<int64_t> round, prompt_length, branches;
  std::vector<int64_t> conversation_id_offsets{0}, token_offsets{0}, branch_offsets{0},
      block_offsets{0}, state_offsets{0}, state_token_offsets{0};

  int64_t num_records() const { return static_cast<int64_t>(round.size()); }
  void append(const Record& record);
  /// Writes a whole HDF5 file, flushed and closed but not yet fsynced. Takes hdf5_mutex().
  void write(const std::filesystem::path& file, const std::string& recipe_hash,
             const std::string& state) const;
};

/// A finished shard of a dataset, as its manifest lists it.
struct ShardInfo {
  std::string file, hash;
  int64_t num_records = 0, num_tokens = 0, num_bytes = 0;
  Json state;  // data stored by its producer
};

std::string shard_name(int64_t index);

/// Writes under a temporary name, fsyncs, renames. Error with the free disk space; then no file
/// remains.
void write_shard(const std::filesystem::path& file, const RecordColumns& records,
                 const std::string& recipe_hash, const Json& state);

/// Error unless the file is a complete shard of the dataset with this hash.
ShardInfo read_shard_info(const std::filesystem::path& file, const std::string& recipe_hash);

/// Finishes a dataset: writes manifest.json, removes recipe.json. UserError if it has no records.
void write_manifest(const std::filesystem::path& folder, const Json& recipe,
                    std::span<const ShardInfo> shards, const Json& counters);

}  // namespace predgen::data
