#include "model/memory_left.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace predgen {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

/// The number in a one-number file; kAny if it is missing or "max".
int64_t number_in(const fs::path& file) {
  int64_t number = 0;
  std::ifstream stream(file);
  return stream >> number ? number : kAny;
}

/// Bytes of page cache, which is reclaimed when memory is needed.
int64_t file_cache(const fs::path& group) {
  int64_t cache = 0, count = 0;
  std::ifstream stream(group / "memory.stat");
  for (std::string name; stream >> name >> count;) {
    if (name == "active_file" || name == "inactive_file") cache += count;
  }
  return cache;
}

/// Bounds `memory` by a group and those above it. `limit`, `usage`: names of their files.
void bound(GroupMemory& memory, const fs::path& root, fs::path group, const char* limit,
           const char* usage) {
  for (bool is_root = false; !is_root; group = group.parent_path()) {
    is_root = group.empty();
    const fs::path folder = root / group;
    const int64_t most = number_in(folder / limit), used = number_in(folder / usage);
    if (most == kAny || used == kAny) continue;
    memory.limit = std::min(memory.limit, most);
    memory.left = std::clamp<int64_t>(most - used + file_cache(folder), 0, memory.left);
  }
}

int64_t free_host_memory() {
  int64_t left = kAny;
  std::ifstream stream("/proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("MemAvailable:")) left = std::stoll(line.substr(13)) << 10;
  }
  return std::min(left, group_memory().left);
}

}  // namespace

GroupMemory group_memory(const fs::path& own, const fs::path& groups) {
  GroupMemory memory{.limit = kAny, .left = kAny};
  std::ifstream stream(own);
  for (std::string line; std::getline(stream, line);) {  // number:controllers:/group
    const size_t name = line.find(':') + 1, path = line.find(':', name) + 1;
    if (name == 0 || path == 0) continue;
    const fs::path group = fs::path(line.substr(path)).relative_path();
    const std::string controllers = line.substr(name, path - 1 - name);
    if (controllers.empty()) bound(memory, groups, group, "memory.max", "memory.current");
    if (controllers == "memory") {
      bound(memory, groups / "memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes");
    }
  }
  return memory;
}

int64_t memory_left(c10::Device device) {
  if (device.is_cpu()) return free_host_memory();
  return static_cast<int64_t>(
      c10::getDeviceAllocator(device.type())->getMemoryInfo(index_of(device)).first);
}

c10::DeviceIndex index_of(c10::Device device) {
  return device.has_index() ? device.index()
                            : c10::impl::VirtualGuardImpl(device.type()).getDevice().index();
}

}  // namespace predgen
