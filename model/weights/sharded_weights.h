#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "model/model_config.h"
#include "tensors/safetensors.h"

namespace predgen {

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
