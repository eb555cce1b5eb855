#pragma once

#include <cstdint>

#include "model/model_config.h"
#include "model/quantized_weight.h"

namespace predgen {

/// Bytes of a model's weights in memory, from its configuration alone: linear layers in 16, 8 or 4
/// bits, the head in 16 or 8 (in 8, separate from embeddings it was tied to), everything else
/// (embeddings, norms) with `bytes_per_value`. `active`: only those of WeightSpec::share.
int64_t weight_bytes(const ModelConfig& config, Quantization quantization,
                     int64_t bytes_per_value = 2, bool active = false);

/// Bytes of keys and values of one position in all layers.
int64_t kv_bytes_per_token(const ModelConfig& config, int64_t bytes_per_value = 2);
/// Those that a pass reads: of layers that share keys and values, once for each.
int64_t kv_bytes_read(const ModelConfig& config, int64_t bytes_per_value);

/// Bytes of the layer of ModelConfig::mtp() alone, without embeddings and head; 0: there is none.
int64_t mtp_bytes(const ModelConfig& config, Quantization quantization,
                  int64_t bytes_per_value = 2);
/// Its keys and values of one position, and the hidden state that it reads.
int64_t mtp_bytes_per_token(const ModelConfig& config, int64_t bytes_per_value = 2);

/// What the snapshots of a conversation may take, unless somebody says otherwise.
constexpr int64_t kStateMemory = int64_t{256} << 20;
/// How many snapshots a sequence has within so much memory; 2 at least, and 16 at most.
int64_t max_snapshots(int64_t bytes_per_snapshot, int64_t memory = kStateMemory);

/// Bytes of a snapshot (SequenceState) of all layers that keep a state; 0: none does.
int64_t snapshot_bytes(const ModelConfig& config, int64_t bytes_per_value = 2);

}  // namespace predgen
