#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensors/mapped_file.h"
#include "tensors/stored_tensors.h"

namespace predgen {

struct SafetensorsType {
  const char* name;
  at::ScalarType type;
};

constexpr size_t kSafetensorsLengthBytes = 8;  // the header's length, little endian

/// The supported types of safetensors files, in the order in which the official library writes
/// their tensors.
std::span<const SafetensorsType> safetensors_types();

/// One .safetensors file, memory-mapped read-only. Tensors are views of the mapping and keep it
/// alive. Checked when opened: header within the file, offsets in range, without holes or overlap,
/// sizes equal to shape times type. UserError names the file and what is wrong with it.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& file);

  struct Entry {
    at::ScalarType dtype;
    std::vector<int64_t> shape;
    size_t begin, end;  // byte offsets in the file
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Zero-copy view; do not write to it. UserError if there is no such tensor.
  at::Tensor tensor(const std::string& name) const;
  /// A tensor for arithmetic: on `device`, in `dtype`, and aligned to 64 bytes, because on some
  /// CPUs the last bits of a product depend on the addresses of its factors. The view if it already
  /// qualifies, else a copy made block by block bypassing the mapping, so that the file does not
  /// also take memory.
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const;
  /// A copy of rows [begin, end) of the first dimension; a scalar has one row. Read from the file,
  /// not through the mapping: only the copy takes memory. Error if the file cannot be read.
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const;
  /// Releases the memory of a tensor's pages; reading its views again reads the file again. Changes
  /// made in place are lost.
  void forget(const std::string& name) const;

 private:
  const Entry& entry(const std::string& name) const;
  std::filesystem::path file_;
  std::shared_ptr<MappedFile> mapping_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// All tensors of a model folder: model.safetensors, or the shards of
/// model.safetensors.index.json.
class SafetensorsFolder : public StoredTensors {
 public:
  explicit SafetensorsFolder(const std::filesystem::path& folder);
  bool contains(const std::string& name) const override { return where_.contains(name); }
  std::vector<std::string> names() const override;
  TensorShape shape(const std::string& name) const override;
  at::Tensor tensor(const std::string& name) const override;
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const override;
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const override;
  void forget(const std::string& name) const override { file_of(name).forget(name); }

 private:
  const SafetensorsFile& file_of(const std::string& name) const;

  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> where_;  // name -> index in files_
  std::filesystem::path folder_;
};

/// Returns rows [begin, end) of the first dimension of a tensor; a scalar has one row.
using TensorRows = std::function<at::Tensor(const std::string& name, int64_t begin, int64_t end)>;

/// Calls `visit(begin, end)` for consecutive rows of a tensor of this shape, about a million
/// elements at a time: few enough to stay in cache while they are processed.
void for_each_block(const std::vector<int64_t>& shape,
                    const std::function<void(int64_t begin, int64_t end)>& visit);

/// Writes like the official library: tensors by descending alignment, then name, header padded to
/// 8, metadata {"format":"pt"}. Atomic; Error if the disk is full.
void write_safetensors(const std::filesystem::path& file,
                       const std::map<std::string, at::Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});
/// Writes tensors too large for memory: gets blocks from `rows` one after the other.
void write_safetensors(const std::filesystem::path& file,
                       const std::map<std::string, TensorShape>& tensors, const TensorRows& rows,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace predgen
