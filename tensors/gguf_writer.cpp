#include "tensors/gguf_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>

#include "core/error.h"
#include "core/files.h"
#include "kernels/threads/thread_team.h"

namespace predgen {
namespace {

constexpr uint64_t kAlignment = 32;  // what readers assume if a file does not say
constexpr int64_t kBlock = 32;

template <typename T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& to, std::string_view text) {
  put<uint64_t>(to, text.size());
  to += text;
}

uint64_t padded(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

/// ggml's quantize_row_q8_0_ref: a scale in float16, then 32 values.
void encode_q8_0(const float* x, uint8_t* to) {
  float largest = 0;
  for (int64_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::fabs(x[i]));
  const float scale = largest / 127;
  const float inverse = scale != 0 ? 1 / scale : 0;
  const at::Half stored(scale);
  std::memcpy(to, &stored, sizeof stored);
  for (int64_t i = 0; i < kBlock; ++i) {
    to[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(x[i] * inverse)));
  }
}

/// quantize_row_q4_0_ref: a scale in float16, of the largest value, which becomes -8; then 16 bytes
/// of value i in the low bits and i + 16 in the high ones.
void encode_q4_0(const float* x, uint8_t* to) {
  float largest = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  }
  const float scale = largest / -8;
  const float inverse = scale != 0 ? 1 / scale : 0;
  const at::Half stored(scale);
  std::memcpy(to, &stored, sizeof stored);
  const auto code = [&](float value) {
    return static_cast<uint8_t>(std::min(15, static_cast<int>(value * inverse + 8.5f)));
  };
  for (int64_t i = 0; i < kBlock / 2; ++i) {
    to[2 + i] = static_cast<uint8_t>(code(x[i]) | code(x[i + kBlock / 2]) << 4);
  }
}

}  // namespace

const GgufType& written_gguf_type(std::string_view name) {
  for (const char* known : {"F32", "F16", "BF16", "Q8_0", "Q4_0"}) {
    if (name != known) continue;
    const auto type = std::ranges::find(gguf_types(), name, &GgufType::name);
    PREDGEN_CHECK(type != gguf_types().end(), "{}", name);
    return *type;
  }
  throw Error("{} is not a type that is written", name);
}

at::Tensor encode_gguf_rows(const at::Tensor& rows, const GgufType& type) {
  PREDGEN_CHECK(rows.is_cpu() && rows.scalar_type() == at::kFloat &&
                    (type.is_plain() || rows.size(-1) % kBlock == 0),
                "{} as {}", c10::str(rows.sizes()), type.name);
  const at::Tensor values = rows.contiguous();
  if (type.is_plain()) return values.to(type.plain).view({-1}).view(at::kByte);
  const int64_t num_blocks = values.numel() / kBlock;
  at::Tensor bytes = at::empty({num_blocks * type.block_bytes}, at::kByte);
  const auto* from = values.const_data_ptr<float>();
  auto* to = bytes.mutable_data_ptr<uint8_t>();
  const auto encode = type.name == "Q4_0" ? encode_q4_0 : encode_q8_0;
  parallel_ranges(num_blocks, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) encode(from + i * kBlock, to + i * type.block_bytes);
  });
  return bytes;
}

void GgufContents::begin(std::string_view key, GgufValueType type) {
  put_text(pairs_, key);
  put(pairs_, type);
  ++num_pairs_;
}

void GgufContents::add(std::string_view key, std::string_view text) {
  begin(key, GgufValueType::kString);
  put_text(pairs_, text);
}

void GgufContents::add(std::string_view key, bool flag) {
  begin(key, GgufValueType::kBool);
  put(pairs_, flag);
}

void GgufContents::add(std::string_view key, uint32_t number) {
  begin(key, GgufValueType::kUint32);
  put(pairs_, number);
}

void GgufContents::add(std::string_view key, float number) {
  begin(key, GgufValueType::kFloat32);
  put(pairs_, number);
}

void GgufContents::add(std::string_view key, const std::vector<std::string>& texts) {
  begin(key, GgufValueType::kList);
  put(pairs_, GgufValueType::kString);
  put<uint64_t>(pairs_, texts.size());
  for (const std::string& text : texts) put_text(pairs_, text);
}

void GgufContents::add(std::string_view key, const std::vector<float>& numbers) {
  begin(key, GgufValueType::kList);
  put(pairs_, GgufValueType::kFloat32);
  put<uint64_t>(pairs_, numbers.size());
  for (const float number : numbers) put(pairs_, number);
}

void GgufContents::add(std::string_view key, const std::vector<int32_t>& numbers) {
  begin(key, GgufValueType::kList);
  put(pairs_, GgufValueType::kInt32);
  put<uint64_t>(pairs_, numbers.size());
  for (const int32_t number : numbers) put(pairs_, number);
}

void GgufContents::add(std::string_view key, const std::vector<bool>& flags) {
  begin(key, GgufValueType::kList);
  put(pairs_, GgufValueType::kBool);
  put<uint64_t>(pairs_, flags.size());
  for (const bool flag : flags) put(pairs_, flag);
}

void GgufContents::add_tensor(std::string name, const GgufType& type, std::vector<int64_t> shape) {
  PREDGEN_CHECK(!shape.empty() && shape.back() % type.block_values == 0, "{} of {}", name,
                c10::str(at::IntArrayRef(shape)));
  tensors_.push_back({.name = std::move(name), .type = &type, .shape = std::move(shape)});
}

uint64_t GgufContents::Tensor::num_bytes() const {
  return static_cast<uint64_t>(c10::multiply_integers(shape) / type->block_values *
                               type->block_bytes);
}

std::string GgufContents::header() const {
  constexpr uint32_t kVersion = 3;
  std::string header = "GGUF";
  put(header, kVersion);
  put<uint64_t>(header, tensors_.size());
  put(header, num_pairs_);
  header += pairs_;
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    put_text(header, tensor.name);
    put(header, static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) {
      put(header, static_cast<uint64_t>(*size));
    }
    put(header, tensor.type->number);
    put(header, offset);
    offset += padded(tensor.num_bytes());
  }
  header.resize(padded(header.size()), '\0');
  return header;
}

uint64_t GgufContents::num_bytes() const {
  uint64_t bytes = header().size();
  for (const Tensor& tensor : tensors_) bytes += padded(tensor.num_bytes());
  return bytes;
}

void GgufContents::write(const std::filesystem::path& file, const TensorRows& rows) const {
  write_file(file, [&](std::ostream& stream) {
    const std::string start = header();
    stream.write(start.data(), static_cast<std::streamsize>(start.size()));
    for (const Tensor& tensor : tensors_) {
      for_each_block(tensor.shape, [&](int64_t begin, int64_t end) {
        if (!stream) return;  // a full disk; write_file reports it
        const at::Tensor bytes = encode_gguf_rows(rows(tensor.name, begin, end), *tensor.type);
        stream.write(static_cast<const char*>(bytes.const_data_ptr()),
                     static_cast<std::streamsize>(bytes.nbytes()));
      });
      const std::string padding(padded(tensor.num_bytes()) - tensor.num_bytes(), '\0');
      stream.write(padding.data(), static_cast<std::streamsize>(padding.size()));
    }
  });
}

}  // namespace predgen
