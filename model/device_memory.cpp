#include "model/device_memory.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/stop.h"

// Defined if the program is linked with jemalloc.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* next, size_t next_size)
    __attribute__((weak));

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

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// Larger than any GPU's cache by a factor of eight.
constexpr int64_t kDeviceBufferBytes = 1024 * kMiB;

/// What this process may use: a container's share of the machine's memory.
int64_t physical_memory() {
  const int64_t all = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return std::min(all, group_memory().limit);
}

c10::CachingDeviceAllocator::DeviceStats device_stats(c10::Device device) {
  at::globalContext().lazyInitDevice(device.type());  // before first use there are none
  return c10::getDeviceAllocator(device.type())->getDeviceStats(index_of(device));
}

}  // namespace

int64_t bandwidth_buffer_bytes(int64_t cache_bytes, int64_t memory_bytes) {
  return std::min(std::max(4 * cache_bytes, 512 * kMiB), memory_bytes / 4);
}

MemoryBandwidth measure_bandwidth(c10::Device device, int num_passes, const std::stop_token& stop) {
  PREDGEN_CHECK(num_passes >= 1, "{} passes", num_passes);
  MemoryBandwidth result;
  result.buffer_bytes = kDeviceBufferBytes;
  if (device.is_cpu()) {
    const int64_t cache = std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE));
    if (cache > 0) result.cache_bytes = cache;
    result.buffer_bytes = bandwidth_buffer_bytes(cache, physical_memory());
  }
  const at::Tensor buffer = at::ones({result.buffer_bytes / static_cast<int64_t>(sizeof(float))},
                                     at::TensorOptions(at::kFloat).device(device));
  result.buffer_bytes = static_cast<int64_t>(buffer.nbytes());
  // On a GPU, starting one sum and waiting for it takes a tenth of its time.
  const int num_sums = device.is_cpu() ? 1 : 16;
  for (int pass = -1; pass < num_passes; ++pass) {  // one to warm up
    throw_if_stopped(stop);
    const auto start = std::chrono::steady_clock::now();
    at::Tensor sum;
    for (int i = 0; i < num_sums; ++i) sum = buffer.sum();
    PREDGEN_CHECK(sum.item<double>() > 0, "a sum of ones");  // waits for a GPU
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (pass < 0) continue;
    const double bytes = num_sums * static_cast<double>(result.buffer_bytes);
    result.bytes_per_second = std::max(result.bytes_per_second, bytes / elapsed.count());
  }
  return result;
}

int64_t memory_size(c10::Device device) {
  if (device.is_cpu()) return physical_memory();
  const auto [free, total] =
      c10::getDeviceAllocator(device.type())->getMemoryInfo(index_of(device));
  return static_cast<int64_t>(total);
}

int64_t free_memory(c10::Device device) {
  constexpr size_t kAll = 0;  // of small and large blocks
  const int64_t held =
      device.is_cpu() ? resident_bytes() : device_stats(device).reserved_bytes[kAll].current;
  const int64_t size = memory_size(device), left = memory_left(device);
  return left < size - held ? left + held : size;
}

int64_t resident_bytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGE_SIZE);
}

PeakMemory peak_memory(c10::Device device) {
  PeakMemory peak;
  rusage usage{};
  PREDGEN_CHECK(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
  peak.process = int64_t{usage.ru_maxrss} * 1024;
  if (!device.is_cpu()) {
    constexpr size_t kAll = 0;  // of small and large blocks
    peak.device = device_stats(device).reserved_bytes[kAll].peak;
  }
  return peak;
}

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

bool is_out_of_memory(const std::exception& error) {
  // LibTorch's CPU allocator has no exception type of its own for that.
  return dynamic_cast<const std::bad_alloc*>(&error) ||
         dynamic_cast<const c10::OutOfMemoryError*>(&error) ||
         std::string_view(error.what()).find("DefaultCPUAllocator: can't allocate memory") !=
             std::string_view::npos;
}

}  // namespace predgen
