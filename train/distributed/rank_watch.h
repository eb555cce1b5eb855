#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/mutex.h"

namespace predgen::train {

/// Tracks which ranks are alive, in which step, and which failed first: each writes a heartbeat
/// into a store from a separate thread. Used by one thread.
class RankWatch {
 public:
  /// `store`: cloned, so that this object has its own connection. `step`: returns this rank's step;
  /// called from any thread.
  RankWatch(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
            std::function<int64_t()> step);
  ~RankWatch();

  /// Whether some rank has failed, as far as this one knows: it polls every half second.
  bool has_failure() const { return has_failure_; }
  /// Reports a failure. Of all ranks' failures, the first is kept.
  void report(const std::string& reason);
  /// Why a collective of this rank has failed with `reason`: the first failure that any rank has
  /// reported, or which rank is silent. Takes a few seconds.
  std::string explain(const std::string& collective, const std::string& reason);

 private:
  struct Query;
  void beat();
  std::string ask(std::function<std::string(Query&)> work) const;

  const int rank_;
  const std::function<int64_t()> step_;
  const std::shared_ptr<Query> query_;
  const c10::intrusive_ptr<c10d::Store> pulse_store_;  // the thread's
  std::atomic<bool> has_failure_ = false;
  Mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace predgen::train
