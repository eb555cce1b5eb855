#pragma once

#include <cstdint>
#include <vector>

namespace predgen::train {

/// Assigns records to micro-batches. The order depends only on (seed, epoch): micro-batch number k
/// is the same for every rank and after every resume. Records of a batch have similar lengths, so
/// little is padding: an epoch's random order is cut into windows, each window sorted by length and
/// cut into batches, and the batches shuffled. Each epoch leaves out up to batch_size - 1 records,
/// different ones each time.
class BatchSampler {
 public:
  /// `lengths`: the cost of each record, in tokens; not empty. batch_size >= 1.
  BatchSampler(std::vector<int64_t> lengths, int64_t batch_size, uint64_t seed);

  /// The requested size, or the number of records if that is smaller.
  int64_t batch_size() const { return batch_size_; }
  int64_t batches_per_epoch() const;
  /// Indices of the records of micro-batch `number` >= 0, counted over all epochs.
  std::vector<int64_t> batch(int64_t number);
  /// The batch_size longest records, to test whether they fit into memory.
  std::vector<int64_t> longest_batch() const;

 private:
  void shuffle_epoch(int64_t epoch);

  const std::vector<int64_t> lengths_;
  const int64_t batch_size_;
  const uint64_t seed_;
  int64_t epoch_ = -1;  // the one in batches_
  std::vector<std::vector<int64_t>> batches_;
};

}  // namespace predgen::train
