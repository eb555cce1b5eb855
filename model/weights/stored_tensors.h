#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace predgen {

/// Tensors by their Hugging Face name, on disk until asked for. UserError for a name that is not
/// there. May be read by several threads at once.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;

  virtual std::vector<std::string> names() const = 0;
  virtual bool contains(const std::string& name) const = 0;
  /// As stored, not to be written to: a view where the memory is the file's. It keeps that alive.
  virtual at::Tensor tensor(const std::string& name) const = 0;
  /// What arithmetic is done with: on `device`, in `dtype`, beginning at a multiple of 64 bytes.
  virtual at::Tensor load(const std::string& name, at::Device device,
                          at::ScalarType dtype) const = 0;
  /// As stored: a copy of rows [begin, end) of the first dimension; a scalar has one row. Only the
  /// copy takes memory.
  virtual at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const = 0;
  /// Gives the memory back that views of the tensor have taken; who reads them again reads the file
  /// again.
  virtual void forget(const std::string& name) const = 0;
};

}  // namespace predgen
