#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/mutex.h"
#include "serve/api_error.h"

namespace predgen::serve {

/// A limited number of slots, of which one client may have only share_of_address(), so that it
/// leaves some to others. Thread-safe; outlives what it gives.
class Slots {
 public:
  explicit Slots(int64_t max);

  /// A slot, taken until the pointer is released; null: none left for this client.
  std::shared_ptr<const void> enter(const std::string& client);
  /// The error to send then: 429. `what`: "answers are under way".
  ApiError refusal(const std::string& what) const;

  int64_t max() const { return max_; }
  int64_t num_taken() const;

 private:
  void leave(const std::string& client);

  const int64_t max_, share_;
  mutable Mutex mutex_;
  int64_t num_taken_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> num_of_ GUARDED_BY(mutex_);
};

}  // namespace predgen::serve
