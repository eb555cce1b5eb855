#include "tensors/stored_tensors.h"

#include "core/error.h"
#include "kernels/threads/parallel_ranges.h"
#include "tensors/gguf_blocks.h"

namespace predgen {

at::Tensor widen(const CodedRows& rows, const CodeLayout& layout) {
  const at::Tensor codes = rows.codes.contiguous(), scales = rows.scales.contiguous();
  // So that without offsets zeros keep their signs.
  const at::Tensor offsets =
      layout.has_offsets ? rows.offsets.contiguous() : at::full_like(scales, -0.0);
  at::Tensor values = at::empty(codes.sizes(), at::kFloat);
  const auto* code = codes.const_data_ptr<int8_t>();
  const auto* scale = scales.const_data_ptr<float>();
  const auto* offset = offsets.const_data_ptr<float>();
  auto* value = values.mutable_data_ptr<float>();
  const float* book = layout.book ? layout.book->data() : nullptr;
  parallel_ranges(scales.numel(), 256, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * layout.group;
    combine_codes(code + at, scale + begin, offset + begin, end - begin, layout.group, book,
                  value + at);
  });
  return values;
}

std::optional<CodeLayout> StoredTensors::code_layout(const std::string&) const {
  return std::nullopt;
}

CodedRows StoredTensors::read_codes(const std::string& name, int64_t, int64_t) const {
  throw Error("{} is not stored in few bits", name);
}

}  // namespace predgen
