#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace predgen::data {

/// Holds a lock on one byte of a LockFile, which must outlive it.
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

/// A file with locks on its bytes, which need not exist, by which processes divide work, on one
/// machine or on several that share a file system. When a process ends in any way, its locks are
/// freed. Each object competes with all others, also within a process; its own locks do not.
class LockFile {
 public:
  /// Opens the file for reading and writing; creates it, empty, if missing.
  explicit LockFile(const std::filesystem::path& file);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// None if another object holds the lock. UserError on a file system without locks.
  std::optional<ByteLock> try_lock(int64_t byte) const;
  /// Waits for the lock.
  ByteLock lock(int64_t byte) const;

  /// Replaces what the file holds, in place, and fsyncs it. A kill may leave a prefix of `text`.
  void overwrite(const std::string& text) const;

 private:
  bool request(int command, int64_t byte) const;

  const std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace predgen::data
