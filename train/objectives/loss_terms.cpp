#include "train/objectives/loss_terms.h"

#include <vector>

#include "train/distributed/communicator.h"

namespace predgen::train {

LossTerms counts_of(const PackedBatch& batch) {
  LossTerms counts;
  for (const auto& [name, term] : batch.terms) counts[name] = term.count;
  return counts;
}

void add(const LossTerms& more, LossTerms& terms) {
  for (const auto& [name, value] : more) terms[name] += value;
}

void all_reduce(LossTerms& terms, Communicator& communicator) {
  std::vector<double> flat;
  for (const auto& [name, value] : terms) flat.push_back(value);
  const at::Tensor tensor = at::tensor(flat, at::kDouble);
  communicator.all_reduce({tensor});
  const double* next = tensor.const_data_ptr<double>();
  for (auto& [name, value] : terms) value = *next++;
}

LossTerms means_of(const LossTerms& sums, const LossTerms& counts) {
  LossTerms means;
  for (const auto& [name, sum] : sums) {
    if (counts.at(name) > 0) means[name] = sum / counts.at(name);
  }
  return means;
}

}  // namespace predgen::train
