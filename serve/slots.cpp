#include "serve/slots.h"

#include <fmt/format.h>

#include "serve/serve_config.h"

namespace predgen::serve {

Slots::Slots(int64_t max) : max_(max), share_(share_of_address(max)) {}

std::shared_ptr<const void> Slots::enter(const std::string& client) {
  {
    const Lock lock(mutex_);
    const auto own = num_of_.find(client);
    if (num_taken_ >= max_ || (own != num_of_.end() && own->second >= share_)) return nullptr;
    ++num_of_[client];
    ++num_taken_;
  }
  // Without the mutex: the deleter runs at once if there is no memory for it.
  return {&num_taken_, [this, client](const void*) { leave(client); }};
}

ApiError Slots::refusal(const std::string& what) const {
  return {{.status = 429, .type = "rate_limit_error", .code = "session_limit_reached"},
          fmt::format("{} {}, or {} of yours, which is the limit: try again", max_, what, share_)};
}

int64_t Slots::num_taken() const {
  const Lock lock(mutex_);
  return num_taken_;
}

void Slots::leave(const std::string& client) {
  const Lock lock(mutex_);
  --num_taken_;
  if (const auto own = num_of_.find(client); --own->second == 0) num_of_.erase(own);
}

}  // namespace predgen::serve
