#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace predgen {

/// The ranks of one training run. Collectives must be called by all ranks in the same order, with
/// the same shapes; they change the tensors in place.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  bool is_main() const { return rank() == 0; }

  virtual void all_reduce_sum(const std::vector<at::Tensor>& tensors) = 0;
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root) = 0;
  virtual void barrier() = 0;
};

/// A world of one: every collective is already done.
class SingleProcessCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  void all_reduce_sum(const std::vector<at::Tensor>&) override {}
  void broadcast(const std::vector<at::Tensor>&, int) override {}
  void barrier() override {}
};

}  // namespace predgen
