#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "train/distributed/communicator.h"
#include "train/distributed/rank_place.h"

namespace predgen::train {

struct ConnectOptions {
  std::string backend = "auto";  // for tensors on a GPU: nccl, gloo; auto: nccl if available
  std::chrono::seconds start_timeout{600};  // for all ranks to connect
  std::chrono::seconds timeout{300};        // of one collective
};

/// Ranks that are processes, on one machine or several: c10d, with NCCL for tensors on a GPU and
/// Gloo for all others. A rank that fails reports it in a shared store; the others' errors name
/// that rank and its reason, or the rank that has gone silent. The process must ignore SIGPIPE, as
/// c10d writes to ranks that may have exited. LibTorch's own warnings are silenced from then on.
class ProcessCommunicator : public Communicator {
 public:
  /// Waits for all ranks of `place`, at least two. UserError for an unavailable backend; Error
  /// naming the ranks that did not connect in time.
  ProcessCommunicator(const RankPlace& place, const ConnectOptions& options);
  ~ProcessCommunicator() override;

  int rank() const override;
  int world_size() const override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void all_reduce(const std::vector<at::Tensor>& tensors) override;
  void all_gather(const at::Tensor& part, const at::Tensor& whole) override;
  void barrier() override;

  /// Tells the other ranks why this one ends. Of all ranks' reasons, the first is kept.
  void report_failure(const std::string& reason);

 private:
  class Group;
  const std::unique_ptr<Group> group_;
};

/// A store for the ranks of this machine, served by the process that starts them, so that it
/// outlives every rank.
class RankStore {
 public:
  RankStore();
  ~RankStore();
  uint16_t port() const;

 private:
  class Server;
  const std::unique_ptr<Server> server_;
};

}  // namespace predgen::train
