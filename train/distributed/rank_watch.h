#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace predgen {

/// Who of the ranks lives, in which step, and who failed first: each writes its pulse into the
/// store from a thread of its own. Thread-safe.
class RankWatch {
 public:
  /// `store`: a connection of its own. `step`: tells this rank's.
  RankWatch(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size,
            std::function<int64_t()> step);
  ~RankWatch();

  /// The first failure of all ranks stands; returns it as a message.
  std::string report(const std::string& reason);
  /// Why a collective of this rank has failed with `reason`: the first failure that any rank has
  /// reported, or who is silent. Takes up to two seconds to find that out.
  std::string explain(const std::string& collective, const std::string& reason);

 private:
  struct Pulse {
    int64_t beats = -1, step = 0;
  };
  void beat();
  std::vector<Pulse> pulses();
  /// The failure in the store; empty: none. Puts `mine` there if there is none.
  std::string first_failure(const std::string& mine);

  const c10::intrusive_ptr<c10d::Store> store_;
  const int rank_, world_size_;
  const std::function<int64_t()> step_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace predgen
