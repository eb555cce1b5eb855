#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace predgen::train {

/// The ranks of one training run, each of which has a communicator of its own and uses it from one
/// thread. All ranks call the same collectives in the same order, with tensors of the same sizes
/// and types. A collective returns when this rank's tensors have their values; it may wait for the
/// other ranks. Gradients do not flow through it. The results are the same bits on every rank.
///
/// When ranks disagree, or one of them has ended or failed, the others get an Error that names it
/// from the collective they are in and from every later one: nobody waits for ever.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// The step this rank is in, for messages of other ranks about it.
  void set_step(int64_t step) { step_ = step; }

  virtual int rank() const = 0;        // 0, 1, .. world_size() - 1
  virtual int world_size() const = 0;  // >= 1
  /// Whether this is rank 0, which alone writes logs and files.
  bool is_main() const { return rank() == 0; }

  /// In place: every rank's tensors become those of rank `root`.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root) = 0;
  /// In place: every rank's tensors become their sums over the ranks.
  virtual void all_reduce(const std::vector<at::Tensor>& tensors) = 0;
  /// whole[r*n .. (r+1)*n) becomes the part [n, ...] of rank r; whole: [world_size * n, ...],
  /// memory of its own.
  virtual void all_gather(const at::Tensor& part, const at::Tensor& whole) = 0;
  /// Returns when every rank has called it.
  virtual void barrier() = 0;

 protected:
  std::atomic<int64_t> step_ = 0;
};

/// The sum of one value of every rank; a collective.
double sum_over_ranks(double value, Communicator& communicator);

}  // namespace predgen::train
