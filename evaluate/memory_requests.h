#pragma once

#include <cstdint>
#include <optional>

namespace predgen::evaluate {

/// What has been asked of the memory so far.
struct MemoryRequests {
  int64_t page_faults = 0;                   // without reading, of all threads
  std::optional<int64_t> allocated_bytes{};  // by this thread; nothing without jemalloc
};

MemoryRequests memory_requests();

}  // namespace predgen::evaluate
