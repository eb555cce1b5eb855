#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace predgen {

/// A file whose bytes are memory, read when they are looked at. What is changed in place gets
/// memory of its own (training, merging), and the file stays as it is. UserError if it cannot be
/// opened, is not a file or is empty. For several threads at once.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  /// The file, for messages.
  const std::string& where() const { return where_; }

  /// Gives the memory of whole pages inside [begin, end) back; what was changed there is lost.
  void forget(size_t begin, size_t end) const;
  /// Reads from the file, past the mapping. Error if that fails.
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
