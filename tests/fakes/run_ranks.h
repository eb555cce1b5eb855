#pragma once

#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "train/distributed/thread_communicator.h"

namespace predgen {

/// Runs `work` as so many ranks, each a thread with a communicator of its own, which ends when its
/// work returns or throws. What each rank threw, by rank; "" for nothing. Ends the process if they
/// wait for each other.
inline std::vector<std::string> run_ranks(int world_size,
                                          const std::function<void(Communicator&)>& work) {
  alarm(300);
  std::vector<std::string> errors(static_cast<size_t>(world_size));
  std::vector<std::unique_ptr<Communicator>> communicators = make_thread_communicators(world_size);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::unique_ptr<Communicator> communicator = std::move(communicators[rank]);
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

}  // namespace predgen
