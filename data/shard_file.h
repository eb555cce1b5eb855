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
