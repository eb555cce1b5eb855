#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensors/gguf_blocks.h"
#include "tensors/gguf_metadata.h"
#include "tensors/mapped_file.h"

namespace predgen {

struct GgufHeader;

/// A GGUF file of version 2 or 3, memory-mapped read-only, with the other parts of a split model,
/// given by its name and metadata ("-00001-of-00003.gguf", split.count). Checked when opened: every
/// size, count and offset is inside the file, tensors do not overlap, types are supported.
/// UserError names the file and what is wrong with it. Thread-safe.
class GgufFile {
 public:
  /// Of a split model: the path of its first part.
  explicit GgufFile(const std::filesystem::path& file);

  struct Entry {
    const GgufType* type;
    std::vector<int64_t> shape;  // outermost first: [out,in] of a matrix (GGUF: in, out)
    size_t part;                 // index in files()
    size_t begin, end;           // byte offsets in that part
  };

  const std::vector<std::filesystem::path>& files() const { return files_; }
  /// The metadata of the first part.
  const GgufMetadata& metadata() const { return *metadata_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }
  /// UserError if there is no such tensor.
  const Entry& entry(const std::string& name) const;

  /// Rows [begin, end) of the first dimension: a copy, in its own type if plain, else in float32.
  /// Read from the file, not through the mapping.
  at::Tensor read_rows(const Entry& entry, int64_t begin, int64_t end) const;
  /// The same for a matrix that is not plain, as codes.
  CodedRows read_codes(const Entry& entry, int64_t begin, int64_t end) const;
  /// A plain tensor: a view of the mapping, which it keeps alive, or a copy if its address is not
  /// aligned for its type.
  at::Tensor view(const Entry& entry) const;
  /// Bytes [offset, offset + num_bytes) of a tensor.
  void read(const Entry& entry, char* to, size_t num_bytes, size_t offset) const;
  void forget(const Entry& entry) const;

 private:
  GgufHeader add_part(const std::filesystem::path& file);

  std::vector<std::filesystem::path> files_;
  std::vector<std::shared_ptr<MappedFile>> parts_;
  std::unique_ptr<const GgufMetadata> metadata_;
  std::map<std::string, Entry> entries_;
};

/// Reads only the key-value pairs and the number of tensors, not the other parts of a split model.
GgufMetadata read_gguf_metadata(const std::filesystem::path& file);

}  // namespace predgen
