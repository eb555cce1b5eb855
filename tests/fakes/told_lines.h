#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace predgen {

/// Lines that the threads of what is tested add, and the test waits for.
struct ToldLines {
  void add(const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
    changed.notify_all();
  }
  /// All so far, as soon as there are `count`, or after 20 seconds.
  std::vector<std::string> take(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return lines.size() >= count; });
    return lines;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
};

}  // namespace predgen
