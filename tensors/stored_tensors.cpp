#include "tensors/stored_tensors.h"

#include <algorithm>
#include <memory>

#include "core/error.h"
#include "kernels/threads/thread_team.h"
#include "kernels/token_kernels.h"
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

namespace {

constexpr int64_t kValuesAtOnce = int64_t{1} << 19;

/// On one thread: LibTorch's conversions would start their own threads.
void convert(const char* from, at::ScalarType stored, int64_t count, char* to,
             at::ScalarType wanted) {
  const TokenKernels& bfloat16 = token_kernels().bfloat16;
  if (stored == at::kBFloat16 && wanted == at::kFloat) {
    bfloat16.load(from, count, reinterpret_cast<float*>(to));
  } else if (stored == at::kFloat && wanted == at::kBFloat16) {
    bfloat16.store(reinterpret_cast<const float*>(from), count, to);
  } else {
    constexpr int64_t kSerial = 16384;  // values that LibTorch does not split among threads
    const at::Tensor values = at::from_blob(const_cast<char*>(from), {count}, stored);
    const at::Tensor result = at::from_blob(to, {count}, wanted);
    for (int64_t i = 0; i < count; i += kSerial) {
      const int64_t some = std::min(kSerial, count - i);
      result.narrow(0, i, some).copy_(values.narrow(0, i, some));
    }
  }
}

}  // namespace

void read_converted(const ReadBytes& read, at::ScalarType stored, const at::Tensor& to) {
  PREDGEN_CHECK(to.is_cpu() && to.is_contiguous(), "{}", c10::str(to.options()));
  const at::ScalarType wanted = to.scalar_type();
  const size_t stored_size = at::elementSize(stored), wanted_size = at::elementSize(wanted);
  auto* target = static_cast<char*>(to.mutable_data_ptr());
  const int64_t num_values = to.numel(),
                num_blocks = (num_values + kValuesAtOnce - 1) / kValuesAtOnce;
  parallel_ranges(num_blocks, 1, [&](int64_t begin, int64_t end) {
    std::unique_ptr<char[]> part;
    if (stored != wanted) part.reset(new char[kValuesAtOnce * stored_size]);  // uninitialised
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kValuesAtOnce,
                    count = std::min(kValuesAtOnce, num_values - first);
      char* place = target + static_cast<size_t>(first) * wanted_size;
      read(part ? part.get() : place, static_cast<size_t>(count) * stored_size,
           static_cast<size_t>(first) * stored_size);
      if (part) convert(part.get(), stored, count, place, wanted);
    }
  });
}

}  // namespace predgen
