#pragma once

#include <map>
#include <string>

#include "train/objectives/packed_batch.h"

namespace predgen::train {

class Communicator;

/// One number per loss term: its sum, its count of positions, or its mean. The mean is taken over
/// the whole step (all micro-batches and ranks), so that splitting a batch does not change the
/// loss.
using LossTerms = std::map<std::string, double>;

LossTerms counts_of(const PackedBatch& batch);
void add(const LossTerms& more, LossTerms& terms);
/// Each rank's terms become the sums over the ranks; all ranks must have terms of the same names.
void all_reduce(LossTerms& terms, Communicator& communicator);
/// sum / count for every term whose count is not 0.
LossTerms means_of(const LossTerms& sums, const LossTerms& counts);

}  // namespace predgen::train
