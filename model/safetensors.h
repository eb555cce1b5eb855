#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace predgen {

/// One .safetensors file, mapped read-only. Tensors are views of the mapping and keep it alive.
/// Checked when opened: header within the file, offsets in range, without holes or overlap, sizes
/// equal to shape times type. UserError names the file and what is wrong with it.
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

 private:
  class Mapping;
  std::filesystem::path file_;
  std::shared_ptr<Mapping> mapping_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// All tensors of a model folder: model.safetensors, or the shards of
/// model.safetensors.index.json.
class SafetensorsFolder {
 public:
  explicit SafetensorsFolder(const std::filesystem::path& folder);
  bool contains(const std::string& name) const { return where_.contains(name); }
  std::vector<std::string> names() const;
  at::Tensor tensor(const std::string& name) const;

 private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> where_;  // name -> index in files_
  std::filesystem::path folder_;
};

/// Writes like the official library: tensors by falling alignment then name, header padded to 8,
/// metadata {"format":"pt"}. Atomic; Error if the disk is full.
void write_safetensors(const std::filesystem::path& file,
                       const std::map<std::string, at::Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace predgen
