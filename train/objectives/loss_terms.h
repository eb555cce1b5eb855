#pragma once

#include <map>
#include <string>

namespace predgen {

class Communicator;

/// Sums over a micro-batch: the mean is taken over the whole step (all micro-batches and ranks),
/// so that splitting a batch does not change the loss.
struct LossTerm {
  double sum = 0.0;
  double count = 0.0;  // of positions
};
using LossTerms = std::map<std::string, LossTerm>;

void add(const LossTerms& more, LossTerms& terms);
/// Each rank's terms become the sums over the ranks; all ranks have terms of the same names.
void all_reduce(LossTerms& terms, Communicator& communicator);

std::map<std::string, double> counts_of(const LossTerms& terms);
/// sum / denominator of every term whose denominator is not 0.
std::map<std::string, double> means_of(const LossTerms& terms,
                                       const std::map<std::string, double>& denominators);

}  // namespace predgen
