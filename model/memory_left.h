#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace predgen {

/// Bytes that a device has left: on a CPU what the system, or the container that this process runs
/// in, has left. Where nothing is known of it, the largest number.
int64_t memory_left(c10::Device device);

}  // namespace predgen
