#pragma once

#include <cstdint>

#include "train/objectives/objective.h"

namespace predgen::train {

/// Which earlier tokens a noisy block sees.
enum class NoisyContext {
  kClean,  // fixed points of the earlier blocks (CLLM, Kou et al. 2024)
  kNoisy,  // the earlier noisy blocks (Jacobi Forcing)
};
/// Which state of a block's trajectory is used as the noisy one.
enum class StateChoice {
  kRandom,       // any but the fixed point, uniformly
  kProgressive,  // whose share of wrong tokens is nearest to linspace(0,1,window)[b % window]
};
enum class BlockChoice { kOne, kEvery };
/// The term that preserves autoregressive quality.
enum class ArTarget {
  kLabels,  // cross-entropy with the dataset's tokens where the loss mask is 1
  kBase,    // KL with the model without its adapter, at every position (LoRA only)
};

struct ConsistencyOptions {
  double ar_weight = 1.0;
  double label_smoothing = 0.0;  // of ArTarget::kLabels, in training
  double consistency_weight = 1.0;
  ArTarget ar_target = ArTarget::kLabels;
  NoisyContext context = NoisyContext::kClean;
  StateChoice states = StateChoice::kRandom;
  BlockChoice blocks = BlockChoice::kEvery;
  int64_t states_per_block = 1;  // with kClean and kRandom: number of distinct ones
  /// Weight of a position by its distance from the block's first mismatch, decay^distance: decoding
  /// uses a token only if all before it are right. 1: all equal, as in the papers.
  double distance_decay = 1.0;
  int64_t noise_window = 16;      // of kProgressive: blocks from least noise to most
  bool mean_over_blocks = false;  // divides a record's consistency loss by its number of blocks
  TokenIds stop_tokens;
};

/// ar_weight * cross-entropy (term "ar", on tokens and loss_mask), or, in training with
///     ArTarget::kBase, the divergence from the base model (term "base")
///   + consistency_weight * KL(stop_grad(model on fixed points) || model on noisy states)
/// (term "consistency"), over the positions of each block from the first token that is not yet the
/// fixed point's to the end; positions whose next token is after the stop token are left out.
/// Records without blocks have only the first term. One pass computes both: the dataset's answer
/// shares the row of the fixed points, as a segment that starts where it differs from them.
class ConsistencyObjective : public Objective {
 public:
  explicit ConsistencyObjective(ConsistencyOptions options);

  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override;
  PackedBatch pack_held_out(const Batch& batch) const override;
  int64_t longest_row(const data::RecordSize& size) const override;

 private:
  const ConsistencyOptions options_;
};

}  // namespace predgen::train
