#include "train/held_out_loss.h"

#include <algorithm>

#include "core/progress.h"
#include "train/optim/precision.h"

namespace predgen {

std::map<std::string, double> held_out_losses(const Transformer& model, const Objective& objective,
                                              const DatasetReader& records,
                                              const TrainConfig& config) {
  LossTerms terms;
  const int64_t size = config.held_out_records > 0
                           ? std::min(config.held_out_records, records.size())
                           : records.size();
  Progress progress("held-out", "records", size);
  for (int64_t begin = 0; begin < size; begin += config.batch_size) {
    Batch batch;
    for (int64_t i = begin; i < std::min(begin + config.batch_size, size); ++i) {
      batch.push_back(records.read(i));
    }
    const ComputeScope scope(config.compute, model.device());
    add(objective.evaluate(model, batch), terms);
    progress.update(begin + static_cast<int64_t>(batch.size()));
  }
  return means_of(terms, counts_of(terms));
}

}  // namespace predgen
