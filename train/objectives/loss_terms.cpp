#include "train/objectives/loss_terms.h"

#include <vector>

#include "train/distributed/communicator.h"

namespace predgen {

void add(const LossTerms& more, LossTerms& terms) {
  for (const auto& [name, term] : more) {
    terms[name].sum += term.sum;
    terms[name].count += term.count;
  }
}

void all_reduce(LossTerms& terms, Communicator& communicator) {
  std::vector<double> flat;
  for (const auto& [name, term] : terms) flat.insert(flat.end(), {term.sum, term.count});
  const at::Tensor tensor = at::tensor(flat, at::kDouble);
  communicator.all_reduce({tensor});
  const double* value = tensor.const_data_ptr<double>();
  for (auto& [name, term] : terms) {
    term.sum = *value++;
    term.count = *value++;
  }
}

std::map<std::string, double> counts_of(const LossTerms& terms) {
  std::map<std::string, double> counts;
  for (const auto& [name, term] : terms) counts[name] = term.count;
  return counts;
}

std::map<std::string, double> means_of(const LossTerms& terms,
                                       const std::map<std::string, double>& denominators) {
  std::map<std::string, double> means;
  for (const auto& [name, term] : terms) {
    if (denominators.at(name) > 0) means[name] = term.sum / denominators.at(name);
  }
  return means;
}

}  // namespace predgen
