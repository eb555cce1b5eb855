#include "train/freed_memory.h"

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/error.h"

// Defined in programs that link jemalloc, null in others.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, size_t* old_size,
                                     void* new_value, size_t new_size);

namespace predgen::train {
namespace {

constexpr ssize_t kNever = -1;

template <typename T>
T read_control(const char* name) {
  T value{};
  size_t size = sizeof(value);
  PREDGEN_CHECK(mallctl(name, &value, &size, nullptr, 0) == 0, "jemalloc has no {}", name);
  return value;
}

template <typename T>
void write_control(const char* name, T value) {
  PREDGEN_CHECK(mallctl(name, nullptr, nullptr, &value, sizeof(value)) == 0, "jemalloc refuses {}",
                name);
}

void for_each_arena(const char* what, ssize_t* value) {
  const auto count = read_control<unsigned>("arenas.narenas");
  for (unsigned i = 0; i < count; ++i) {
    // An arena not used by any thread yet rejects this, and takes arenas.dirty_decay_ms on use.
    const std::string name = "arena." + std::to_string(i) + "." + what;
    mallctl(name.c_str(), nullptr, nullptr, value, value ? sizeof(*value) : 0);
  }
}

void set_decay(ssize_t milliseconds) {
  write_control("arenas.dirty_decay_ms", milliseconds);
  for_each_arena("dirty_decay_ms", &milliseconds);
}

/// Pages that the process holds, free ones included.
size_t held_bytes() {
  write_control("epoch", uint64_t{1});  // refreshes the statistics
  return read_control<size_t>("stats.resident");
}

}  // namespace

FreedMemory::FreedMemory() {
  if (!mallctl) return;
  usual_decay_ = read_control<ssize_t>("arenas.dirty_decay_ms");
  set_decay(kNever);
}

FreedMemory::~FreedMemory() {
  if (mallctl) set_decay(usual_decay_);
}

void FreedMemory::set_bound() {
  if (mallctl) bound_ = held_bytes();
}

void FreedMemory::trim() {
  if (mallctl && bound_ > 0 && held_bytes() > bound_ + bound_ / 4) for_each_arena("purge", nullptr);
}

}  // namespace predgen::train
