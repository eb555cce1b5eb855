#pragma once

#include <cstdint>

#include "train/objectives/objective.h"

namespace predgen::train {

struct MtpOptions {
  TokenIds mask_tokens;         // behind each place, in their order; at least 1
  int64_t places = 0;           // of a record, others in each step; 0: every one
  double distance_decay = 1.0;  // weight of the mask after so many others, decay^distance
};

/// Multi-token prediction by mask tokens (Samragh et al. 2025, arXiv 2507.11851). Behind a place in
/// an answer, where the model says what comes next, stand masks as a segment of the row: mask j is
/// taught what the model itself says j tokens further on (term "mtp", KL). The adapter counts for
/// masks alone, so that the model's own answers stay as they are, and the rest of the row gives the
/// teacher's view. Places are those whose next two tokens are targets (loss_mask); the masks behind
/// one end with the last target of its answer.
class MtpObjective : public Objective {
 public:
  explicit MtpObjective(MtpOptions options);

  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override;
  /// All masks alike; where places are drawn, the same ones each time.
  PackedBatch pack_held_out(const Batch& batch) const override;
  int64_t longest_row(const data::RecordSize& size) const override;

 private:
  const MtpOptions options_;
};

}  // namespace predgen::train
