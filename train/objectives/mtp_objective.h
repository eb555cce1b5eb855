#pragma once

#include <cstdint>

#include "train/objectives/objective.h"

namespace predgen::train {

struct MtpOptions {
  TokenIds mask_tokens;         // inserted after each place, in order; at least 1
  int64_t places = 0;           // per record, redrawn in each step; 0: all
  double distance_decay = 1.0;  // weight of the mask after `distance` others: decay^distance
};

/// Multi-token prediction by mask tokens (Samragh et al. 2025, arXiv 2507.11851). After a place in
/// an answer, where the model predicts the next token, masks follow as a segment of the row: mask j
/// is taught what the model itself predicts j tokens later (term "mtp", KL). The adapter applies to
/// masks only, so the model's own answers are unchanged, and the rest of the row is the teacher's
/// view. Places are those whose next two tokens are targets (loss_mask); the masks after a place
/// end with the last target of its answer.
class MtpObjective : public Objective {
 public:
  explicit MtpObjective(MtpOptions options);

  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override;
  /// All masks weigh the same; if places are drawn, the same ones each time.
  PackedBatch pack_held_out(const Batch& batch) const override;
  int64_t longest_row(const data::RecordSize& size) const override;

 private:
  const MtpOptions options_;
};

}  // namespace predgen::train
