#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace predgen::train {

/// Connects the ranks of one training run. Each rank has its own communicator, used from one
/// thread. All ranks call the same collectives in the same order, with tensors of the same sizes
/// and types. A collective returns when this rank's tensors hold the result; it may wait for other
/// ranks. No gradients flow through it. Results are bitwise identical on every rank.
///
/// If ranks disagree, or one has ended or failed, the others get an Error that names it from their
/// current collective and from every later one: no rank waits forever.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Sets this rank's current step, which other ranks' messages report.
  void set_step(int64_t step) { step_ = step; }

  virtual int rank() const = 0;        // 0, 1, .. world_size() - 1
  virtual int world_size() const = 0;  // >= 1
  /// Whether this is rank 0, which alone writes logs and files.
  bool is_main() const { return rank() == 0; }

  /// In place: every rank's tensors become those of rank `root`.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root) = 0;
  /// In place: every rank's tensors become their sums over the ranks.
  virtual void all_reduce(const std::vector<at::Tensor>& tensors) = 0;
  /// whole[r*n .. (r+1)*n) becomes the part [n, ...] of rank r; whole: [world_size * n, ...], in
  /// separate memory.
  virtual void all_gather(const at::Tensor& part, const at::Tensor& whole) = 0;
  /// Returns when every rank has called it.
  virtual void barrier() = 0;

 protected:
  std::atomic<int64_t> step_ = 0;
};

/// The sum of one value of every rank; a collective.
inline double sum_over_ranks(double value, Communicator& communicator) {
  const at::Tensor tensor = at::tensor({value}, at::kDouble);
  communicator.all_reduce({tensor});
  return tensor.item<double>();
}

/// A world of one rank, which never waits.
class SingleProcessCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  void broadcast(const std::vector<at::Tensor>&, int) override {}
  void all_reduce(const std::vector<at::Tensor>&) override {}
  void all_gather(const at::Tensor& part, const at::Tensor& whole) override { whole.copy_(part); }
  void barrier() override {}
};

}  // namespace predgen::train
