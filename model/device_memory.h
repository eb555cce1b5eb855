#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <stop_token>

namespace predgen {

/// What control groups leave to this process, in bytes; the largest int64_t: no known bound.
struct GroupMemory {
  int64_t limit, left;
};

/// The minimum over its own group and those above it, cgroup v1 or v2; page cache counts as free.
/// `own`: the file that names its group. `groups`: where groups are mounted.
GroupMemory group_memory(const std::filesystem::path& own = "/proc/self/cgroup",
                         const std::filesystem::path& groups = "/sys/fs/cgroup");

/// Bytes that a device has left: on a CPU what the system, or the control group that this process
/// runs in, has left. The largest int64_t if unknown.
int64_t memory_left(c10::Device device);

/// The device's index, or the current device's if it has none. Not for a CPU.
c10::DeviceIndex index_of(c10::Device device);

/// How fast a device reads its memory: LibTorch's sum over a float32 buffer much larger than its
/// caches, with the threads that models use; the best of a few passes, as in STREAM's benchmark.
struct MemoryBandwidth {
  double bytes_per_second = 0;
  int64_t buffer_bytes = 0;
  std::optional<int64_t> cache_bytes;  // a CPU's last-level cache, if the system reports it
};

/// Size of the buffer: four times the cache and at least half a GiB, but no more than a quarter of
/// the memory.
int64_t bandwidth_buffer_bytes(int64_t cache_bytes, int64_t memory_bytes);

/// Takes seconds, and allocates the buffer while it runs. Throws Interrupted between two passes
/// after a stop request.
MemoryBandwidth measure_bandwidth(c10::Device device, int num_passes, const std::stop_token& stop);

/// Total memory of a device, in bytes; for a CPU, what this process may use of the machine's.
int64_t memory_size(c10::Device device);

/// The part of it that this process holds or could still take; other processes hold the rest.
int64_t free_memory(c10::Device device);

/// The most memory in use since the process began.
struct PeakMemory {
  int64_t process = 0;            // bytes; resident, shared libraries included
  std::optional<int64_t> device;  // GPU bytes held by LibTorch, its cache included
};
/// Resident memory of this process now. (Its peak starts at that of the process that started
/// it.)
int64_t resident_bytes();
PeakMemory peak_memory(c10::Device device);

/// Memory requests so far.
struct MemoryRequests {
  int64_t page_faults = 0;                   // minor faults (no disk read), all threads
  std::optional<int64_t> allocated_bytes{};  // by this thread; none without jemalloc
};

MemoryRequests memory_requests();

/// Whether an error means out of memory, of the process or of a GPU.
bool is_out_of_memory(const std::exception& error);

}  // namespace predgen
