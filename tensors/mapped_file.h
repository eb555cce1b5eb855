#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace predgen {

/// A memory-mapped file, paged in on access. The mapping is copy-on-write: in-place changes
/// (training, merging) get private memory and the file is unchanged. UserError if it cannot be
/// opened, is not a file or is empty. Thread-safe.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  /// The file's path, for messages.
  const std::string& where() const { return where_; }

  /// Releases the memory of whole pages inside [begin, end); changes made there are lost.
  void forget(size_t begin, size_t end) const;
  /// Reads from the file, bypassing the mapping. Error if that fails.
  void read(char* target, size_t num_bytes, size_t offset) const;

 private:
  struct Descriptor {
    explicit Descriptor(int opened) : value(opened) {}
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    const int value;
  };

  const std::string where_;
  const Descriptor descriptor_;
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace predgen
