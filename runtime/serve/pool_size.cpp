#include "runtime/serve/pool_size.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "core/error.h"

namespace predgen {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

/// The number in a file of one; nothing is there, or "max": any.
int64_t number_in(const char* file) {
  int64_t number = 0;
  std::ifstream stream(file);
  return stream >> number ? number : kAny;
}

int64_t free_host_memory() {
  int64_t left = kAny;
  std::ifstream stream("/proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("MemAvailable:")) left = std::stoll(line.substr(13)) << 10;
  }
  const int64_t most = number_in("/sys/fs/cgroup/memory.max");
  const int64_t used = number_in("/sys/fs/cgroup/memory.current");
  return most == kAny || used == kAny ? left : std::min(left, std::max<int64_t>(0, most - used));
}

}  // namespace

int64_t free_memory(c10::Device device) {
  if (device.is_cpu()) return free_host_memory();
  const c10::DeviceIndex index = device.has_index() ? device.index() : c10::DeviceIndex{0};
  return static_cast<int64_t>(c10::getDeviceAllocator(device.type())->getMemoryInfo(index).first);
}

int64_t pool_positions(const ServeConfig& config, int64_t max_positions, const KvLayout& layout,
                       int64_t free) {
  const int64_t context = std::min(config.max_context, max_positions);
  if (config.pool_positions == 0) {
    const int64_t room = layout.options.device().is_cpu() ? free / 2 : free / 5 * 4;
    return std::max(context, room / layout.bytes_per_position());
  }
  if (config.pool_positions < context) {
    throw UserError(
        "pool_positions {}: a conversation of {} tokens does not fit: give at least that many, or "
        "lower max_context",
        config.pool_positions, context);
  }
  return config.pool_positions;
}

}  // namespace predgen
