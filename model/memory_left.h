#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>

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

}  // namespace predgen
