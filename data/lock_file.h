#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace predgen::data {

/// Holds a lock on one byte of a LockFile, which outlives it.
class ByteLock {
 public:
  ByteLock(ByteLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), byte_(other.byte_) {}
  ByteLock(const ByteLock&) = delete;
  ByteLock& operator=(const ByteLock&) = delete;
  ~ByteLock();

 private:
  friend class LockFile;
  ByteLock(int descriptor, int64_t byte) : descriptor_(descriptor), byte_(byte) {}

  int descriptor_;
  int64_t byte_;
};

/// A file by whose bytes, which need not exist, processes agree who does what, on one machine or on
/// several that share a file system. When a process ends, however it ends, its locks are free.
/// Each object competes with all others, also within a process; its own locks do not.
class LockFile {
 public:
  /// Opened for reading and writing; made, empty, where there is none.
  explicit LockFile(const std::filesystem::path& file);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// Nothing if another object holds it. UserError on a file system without locks.
  std::optional<ByteLock> try_lock(int64_t byte) const;
  /// Waits for it.
  ByteLock lock(int64_t byte) const;

  /// Replaces what the file holds, in place, and fsyncs it. A kill leaves a beginning of `text`.
  void overwrite(const std::string& text) const;

 private:
  bool request(int command, int64_t byte) const;

  const std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace predgen::data
