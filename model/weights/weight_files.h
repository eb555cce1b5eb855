#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "model/model_config.h"
#include "tensors/safetensors.h"

namespace predgen {

/// The files of a model's or an adapter's folder that decide what is computed, sorted: its shapes
/// (config.json, adapter_config.json) and every weight file. UserError if the folder does not
/// exist.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);

/// A hash of the names and contents of such files, wherever they are.
std::string hash_weights(const std::vector<std::filesystem::path>& files);

/// What tells a model from others of the same shapes, merged adapters included, without reading all
/// of it: FNV-1a in 64 bits of each file's size and of 64 parts of it, 4 KiB each, evenly spread.
/// scripts/train_end_readout.py computes the same. UserError if a file cannot be read.
std::string fingerprint(const std::vector<std::filesystem::path>& files);

/// Rejects a file unless its tensors are exactly those of `layout`: UserError names a missing,
/// superfluous, misshapen or non-floating-point one. `names`, `tensor`: what the file holds;
/// `where`: the file; `what`: what it should be, with its article, for the message.
void check_weights(const std::vector<WeightSpec>& layout, const std::vector<std::string>& names,
                   const std::function<at::Tensor(const std::string&)>& tensor,
                   const std::string& where, const std::string& what);

/// Which tensor goes into which file, decided as in huggingface_hub: greedy in the given order; a
/// tensor above the limit gets a file of its own; a single file needs no index.
struct ShardPlan {
  struct Shard {
    std::string file;
    std::vector<std::string> tensors;
  };
  std::vector<Shard> shards;
  uint64_t total_bytes = 0;

  Json index() const;  // the contents of model.safetensors.index.json
};

constexpr uint64_t kMaxShardBytes = 5'000'000'000;

ShardPlan plan_shards(const std::vector<std::pair<std::string, uint64_t>>& tensor_bytes,
                      uint64_t max_shard_bytes = kMaxShardBytes);

/// Writes model.safetensors, or shards and their index, into `folder`, as type `dtype`, which must
/// be the type of the blocks that `rows` gives; then removes weight files of an earlier save. The
/// order of `layout` decides the shards. Error if the disk is full.
void write_sharded_weights(const std::filesystem::path& folder,
                           const std::vector<WeightSpec>& layout, at::ScalarType dtype,
                           const TensorRows& rows, uint64_t max_shard_bytes = kMaxShardBytes);
/// Writes tensors in memory, converted to `dtype` block by block.
void write_sharded_weights(const std::filesystem::path& folder,
                           const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                           at::ScalarType dtype, uint64_t max_shard_bytes = kMaxShardBytes);

}  // namespace predgen
