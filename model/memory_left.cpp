#include "model/memory_left.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

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

int64_t memory_left(c10::Device device) {
  if (device.is_cpu()) return free_host_memory();
  const c10::DeviceIndex index =
      device.has_index() ? device.index()
                         : c10::impl::VirtualGuardImpl(device.type()).getDevice().index();
  return static_cast<int64_t>(c10::getDeviceAllocator(device.type())->getMemoryInfo(index).first);
}

}  // namespace predgen
