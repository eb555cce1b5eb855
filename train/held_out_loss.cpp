#include "train/held_out_loss.h"

#include <algorithm>
#include <optional>

#include "core/progress.h"
#include "train/check_data.h"
#include "train/objectives/gradients.h"
#include "train/optim/precision.h"

namespace predgen::train {

LossTerms held_out_losses(Transformer& model, const Objective& objective,
                          const data::DatasetReader& records, const TrainConfig& config,
                          Communicator& communicator) {
  LossTerms sums = counts_of(objective.pack_held_out({}));  // a rank may have no records
  LossTerms counts = sums;
  const int64_t size = config.held_out_records > 0
                           ? std::min(config.held_out_records, records.size())
                           : records.size();
  std::optional<Progress> progress;
  if (communicator.is_main()) progress.emplace("held-out", "records", size);
  const int64_t step = config.batch_size * communicator.world_size();
  // A rank takes part in every round, even without records: it may hold part of the layers.
  for (int64_t round = 0; round < size; round += step) {
    const int64_t begin = round + config.batch_size * communicator.rank();
    Batch batch;
    for (int64_t i = begin; i < std::min(begin + config.batch_size, size); ++i) {
      check_ids(batch.emplace_back(records.read(i)), model.config().vocab_size);
    }
    const ComputeScope scope(config.compute, model.device());
    const PackedBatch packed = objective.pack_held_out(batch);
    add(counts_of(packed), counts);
    add(evaluate_terms(model, packed), sums);
    if (progress) progress->update(std::min(round + step, size));
  }
  all_reduce(sums, communicator);
  all_reduce(counts, communicator);
  return means_of(sums, counts);
}

}  // namespace predgen::train
