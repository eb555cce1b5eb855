#pragma once

#include <filesystem>
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

}  // namespace predgen::data
