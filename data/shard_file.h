#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/json.h"
#include "data/record_columns.h"

namespace predgen::data {

/// A finished shard of a dataset, as its manifest lists it.
struct ShardInfo {
  std::string file, hash;
  int64_t num_records = 0, num_tokens = 0, num_bytes = 0;
  Json state;  // what its producer kept in it
};

std::string shard_name(int64_t index);

/// Writes under a temporary name, fsyncs, renames. Error with what is left on the disk; then there
/// is nothing of it.
void write_shard(const std::filesystem::path& file, const RecordColumns& records,
                 const std::string& recipe_hash, const Json& state);

/// Error unless the file is a whole shard of the dataset with this hash.
ShardInfo read_shard_info(const std::filesystem::path& file, const std::string& recipe_hash);

/// Finishes a dataset: manifest.json, and recipe.json is gone. UserError if there is no record.
void write_manifest(const std::filesystem::path& folder, const Json& recipe,
                    std::span<const ShardInfo> shards, const Json& counters);

}  // namespace predgen::data
