#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>

namespace predgen {

/// How fast a device reads its memory: LibTorch's sum over a float32 buffer much larger than its
/// caches, with the threads that models use; the best of some passes, as in the STREAM benchmark.
struct MemoryBandwidth {
  double bytes_per_second = 0;
  int64_t buffer_bytes = 0;
  std::optional<int64_t> cache_bytes;  // the last cache of a CPU, if the system says
};

/// Size of the buffer: four times the cache and at least half a GiB, but no more than a quarter of
/// the memory.
int64_t bandwidth_buffer_bytes(int64_t cache_bytes, int64_t memory_bytes);

/// Takes seconds, and the memory of the buffer while it runs. Throws Interrupted between two passes
/// after a stop.
MemoryBandwidth measure_bandwidth(c10::Device device, int num_passes, const std::stop_token& stop);

/// All that a device has, in bytes: of a CPU what this process may have of the machine's.
int64_t memory_size(c10::Device device);

/// Of that, what this process holds or could still take: the rest is that of others.
int64_t free_memory(c10::Device device);

/// The most memory in use since the process began.
struct PeakMemory {
  int64_t process = 0;            // bytes; resident, shared libraries included
  std::optional<int64_t> device;  // bytes that LibTorch held of a GPU, its cache included
};
/// What is resident of this process now. (Its peak begins with that of the process that started
/// it.)
int64_t resident_bytes();
PeakMemory peak_memory(c10::Device device);

/// What has been asked of the memory so far.
struct MemoryRequests {
  int64_t page_faults = 0;                   // without reading, of all threads
  std::optional<int64_t> allocated_bytes{};  // by this thread; nothing without jemalloc
};

MemoryRequests memory_requests();

/// Whether an error says that there was no memory, of the process or of a GPU.
bool is_out_of_memory(const std::exception& error);

}  // namespace predgen
