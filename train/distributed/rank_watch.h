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

/// Which ranks are alive, in which step, and who failed first: each writes its pulse into a store
/// from a thread of its own. Used by one thread.
class RankWatch {
 public:
  /// `store`: to be cloned; its own connection is used for nothing else. `step`: this rank's, asked
  /// from any thread.
  RankWatch(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
            std::function<int64_t()> step);
  ~RankWatch();

  /// Whether some rank has failed, as far as this one has heard: it asks every half second.
  bool has_failure() const { return has_failure_; }
  /// The first failure of all ranks stands.
  void report(const std::string& reason);
  /// Why a collective of this rank has failed with `reason`: the first failure that any rank has
  /// reported, or who is silent. Takes some seconds to find that out.
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
