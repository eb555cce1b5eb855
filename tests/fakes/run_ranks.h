#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/thread_communicator.h"
#include "train/distributed/process_communicator.h"

namespace predgen {

using MakeCommunicator = std::function<std::unique_ptr<train::Communicator>()>;

/// Runs `work` as so many ranks, each a thread with a communicator of its own, which ends when its
/// work returns or throws. What each rank threw, by rank; "" for nothing. Ends the process if they
/// wait for each other.
inline std::vector<std::string> run_ranks(const std::vector<MakeCommunicator>& ranks,
                                          const std::function<void(train::Communicator&)>& work) {
  alarm(300);
  // LibTorch records the collectives of a process without a lock for its list of groups: ranks that
  // are threads would write it at once.
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::unique_ptr<train::Communicator> communicator = ranks[rank]();
        work(*communicator);
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  alarm(0);
  return errors;
}

inline std::vector<std::string> run_ranks(int world_size,
                                          const std::function<void(train::Communicator&)>& work) {
  auto communicators = train::make_thread_communicators(world_size);
  std::vector<MakeCommunicator> ranks;
  for (auto& communicator : communicators) {
    ranks.push_back([&communicator] { return std::move(communicator); });
  }
  return run_ranks(ranks, work);
}

/// Runs ranks with the communicators of processes, which do not know that they share one.
inline std::vector<std::string> run_connected_ranks(
    int world_size, const std::function<void(train::Communicator&)>& work,
    const train::ConnectOptions& options = {.start_timeout = std::chrono::seconds(60),
                                            .timeout = std::chrono::seconds(60)}) {
  std::signal(SIGPIPE, SIG_IGN);
  const train::RankStore store;
  std::vector<MakeCommunicator> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    const train::RankPlace place{.rank = rank,
                                 .world_size = world_size,
                                 .local_rank = rank,
                                 .address = "127.0.0.1",
                                 .port = store.port()};
    ranks.push_back(
        [place, options] { return std::make_unique<train::ProcessCommunicator>(place, options); });
  }
  return run_ranks(ranks, work);
}

}  // namespace predgen
