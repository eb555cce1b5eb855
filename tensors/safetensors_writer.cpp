// The writing half of tensors/safetensors.h.

#include <algorithm>
#include <ostream>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "tensors/safetensors.h"
#include "tensors/safetensors_types.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

size_t type_rank(const TensorShape& tensor, const std::string& name) {
  const std::span<const SafetensorsType> types = safetensors_types();
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].type == tensor.dtype) return i;
  }
  throw Error("tensor {}: safetensors files cannot hold {} here", name, at::toString(tensor.dtype));
}

uint64_t byte_size(const TensorShape& tensor) {
  return static_cast<uint64_t>(c10::multiply_integers(tensor.shape)) *
         at::elementSize(tensor.dtype);
}

std::string make_header(const std::vector<std::pair<std::string, TensorShape>>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t end = offset + byte_size(tensor);
    header[name] = {{"dtype", safetensors_types()[type_rank(tensor, name)].name},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kSafetensorsLengthBytes - 1) / kSafetensorsLengthBytes *
                  kSafetensorsLengthBytes,
              ' ');
  return text;
}

}  // namespace

void for_each_block(const std::vector<int64_t>& shape,
                    const std::function<void(int64_t begin, int64_t end)>& visit) {
  constexpr int64_t kElements = int64_t{1} << 20;
  const int64_t num_rows = shape.empty() ? 1 : shape[0];
  const int64_t row_size = num_rows == 0 ? 1 : c10::multiply_integers(shape) / num_rows;
  const int64_t step = std::max<int64_t>(1, kElements / std::max<int64_t>(1, row_size));
  for (int64_t begin = 0; begin < num_rows; begin += step) {
    visit(begin, std::min(begin + step, num_rows));
  }
}

void write_safetensors(const fs::path& file, const std::map<std::string, TensorShape>& tensors,
                       const TensorRows& rows, const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, TensorShape>> order(tensors.begin(), tensors.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& left, const auto& right) {
    return type_rank(left.second, left.first) < type_rank(right.second, right.first);
  });
  const std::string header = make_header(order, metadata);
  const uint64_t header_size = header.size();
  write_file(file, [&](std::ostream& stream) {
    stream.write(reinterpret_cast<const char*>(&header_size), kSafetensorsLengthBytes);
    stream.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const auto& [name, tensor] : order) {
      for_each_block(tensor.shape, [&, &name = name, &tensor = tensor](int64_t begin, int64_t end) {
        if (!stream) return;  // a full disk; write_file reports it
        const at::Tensor data = rows(name, begin, end).detach().cpu().contiguous();
        std::vector<int64_t> shape = tensor.shape;
        if (!shape.empty()) shape[0] = end - begin;
        PREDGEN_CHECK(data.sizes() == shape && data.scalar_type() == tensor.dtype,
                      "{}: rows {} to {} are {}", name, begin, end, c10::str(data.sizes()));
        stream.write(static_cast<const char*>(data.const_data_ptr()),
                     static_cast<std::streamsize>(data.nbytes()));
      });
    }
  });
}

void write_safetensors(const fs::path& file, const std::map<std::string, at::Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::map<std::string, TensorShape> shapes;
  for (const auto& [name, tensor] : tensors) {
    shapes[name] = {tensor.scalar_type(), tensor.sizes().vec()};
  }
  const auto rows = [&](const std::string& name, int64_t begin, int64_t end) {
    const at::Tensor& tensor = tensors.at(name);
    return tensor.dim() == 0 ? tensor : tensor.narrow(0, begin, end - begin);
  };
  write_safetensors(file, shapes, rows, metadata);
}

}  // namespace predgen
