#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>

namespace predgen {

/// What control groups leave to this process, in bytes; the largest number: no bound is known.
struct GroupMemory {
  int64_t limit, left;
};

/// Of its own group and those above it, of either version; file caches count as free. `own`: what
/// says which group it is in. `groups`: where they are.
GroupMemory group_memory(const std::filesystem::path& own = "/proc/self/cgroup",
                         const std::filesystem::path& groups = "/sys/fs/cgroup");

/// Bytes that a device has left: on a CPU what the system, or the control group that this process
/// runs in, has left. Where nothing is known of it, the largest number.
int64_t memory_left(c10::Device device);

/// The device's own index, or the current one's if it has none. Not of a CPU.
c10::DeviceIndex index_of(c10::Device device);

}  // namespace predgen
