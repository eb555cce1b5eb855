#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/dataset_store.h"
#include "text/token_ids.h"

namespace predgen::train {

/// One place in the rows of a batch.
struct RowPosition {
  int64_t row = 0;
  int64_t column = 0;
};

/// Tokens [begin, begin+size) of a row that take the positions place, place+1, .. of the same row:
/// they see what is before `place`, and each other causally; no other token sees them.
struct Segment {
  int64_t begin = 0, size = 0, place = 0;
};

/// One term of the loss in a micro-batch: at students[i] the model is taught targets[i] or, without
/// targets, its own prediction at teachers[i], which is held constant.
struct TaughtTerm {
  double weight = 1.0;  // of the term in the loss
  double count = 0.0;   // what it adds to the term's denominator
  std::vector<RowPosition> students{};
  TokenIds targets;
  double label_smoothing = 0.0;  // share of a target that is spread over the whole vocabulary
  std::vector<RowPosition> teachers;
  bool teacher_is_base = false;          // teachers are positions of PackedBatch::base_rows
  std::vector<double> position_weights;  // empty: 1 each
};

/// A micro-batch prepared for one pass: its rows, and what is taught where.
struct PackedBatch {
  std::vector<TokenIds> rows;
  std::vector<std::vector<Segment>> segments;  // per row
  bool gates_adapter = false;                  // the adapter applies only in segments
  std::vector<TokenIds> base_rows;             // run by the model without its adapter
  std::map<std::string, TaughtTerm> terms;     // the same names for every batch of an objective
};

using Batch = std::vector<data::Record>;

/// Defines what a batch teaches. Runs no model.
class Objective {
 public:
  virtual ~Objective() = default;

  /// For training. `step_seed` drives every random choice (which state) per record, so that
  /// splitting a batch does not change it. The counts of the terms are added over the step before
  /// the first backward pass.
  virtual PackedBatch pack(const Batch& batch, uint64_t step_seed) const = 0;
  /// For held-out data: no random choice, and the plain losses, so that runs can be compared.
  virtual PackedBatch pack_held_out(const Batch& batch) const = 0;
  /// The most tokens that a row of pack() may have for a record of this size.
  virtual int64_t longest_row(const data::RecordSize& size) const = 0;
};

}  // namespace predgen::train
