#include "evaluate/memory_requests.h"

#include <sys/resource.h>

#include <cstddef>

// Where the program is linked with jemalloc.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* next, size_t next_size)
    __attribute__((weak));

namespace predgen::evaluate {

MemoryRequests memory_requests() {
  MemoryRequests requests;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  requests.page_faults = usage.ru_minflt;
  uint64_t bytes = 0;
  size_t size = sizeof(bytes);
  if (mallctl != nullptr && mallctl("thread.allocated", &bytes, &size, nullptr, 0) == 0) {
    requests.allocated_bytes = static_cast<int64_t>(bytes);
  }
  return requests;
}

}  // namespace predgen::evaluate
