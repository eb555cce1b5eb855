#include "tensors/gguf_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/model_names.h"
#include "kernels/threads/thread_team.h"
#include "tensors/gguf_blocks.h"
#include "tensors/gguf_header.h"
#include "tensors/gguf_metadata.h"

namespace predgen {
namespace {

/// The paths of all parts of the model whose first part this is; for an unsplit file, its own path.
/// UserError if it is a later part, or if another part is missing.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& first,
                                              const GgufMetadata& metadata);

namespace fs = std::filesystem;

std::vector<fs::path> gguf_parts(const fs::path& first, const GgufMetadata& metadata) {
  const std::string& where = metadata.where();
  const std::optional<SplitName> name = parse_split_name(first.filename().string());
  const auto count = metadata.get_or<int64_t>("split.count", 1);
  if (count <= 1 && (!name || name->count <= 1)) return {first};
  if (!name || name->count != count) {
    throw UserError(
        "{}: split.count says that it is one of {} parts, its name does not: give all "
        "parts their names (\"NAME-00001-of-{:05}.gguf\"), or download them again",
        where, count, count);
  }
  if (name->number != 1) {
    throw UserError("{}: is part {} of {} of a model: give the first one, {}", where, name->number,
                    count, (first.parent_path() / name->part(1)).string());
  }
  std::vector<fs::path> parts;
  for (int64_t i = 1; i <= count; ++i) {
    parts.push_back(first.parent_path() / name->part(i));
    if (!fs::exists(parts.back())) {
      throw UserError("{}: part {} of {} is missing: put it beside the others",
                      parts.back().string(), i, count);
    }
  }
  return parts;
}

}  // namespace

namespace {

constexpr int64_t kChunk = int64_t{1} << 15;  // values that fit into a cache

/// Calls work(begin, end) for chunks of `count` blocks, on as many threads as LibTorch is set to
/// use.
void for_each_chunk(const GgufType& type, int64_t count,
                    const std::function<void(int64_t, int64_t)>& work) {
  const int64_t grain = kChunk / type.block_values;
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += grain) work(begin, std::min(end, begin + grain));
  });
}

/// The bytes of blocks [begin, end), counted from the tensor's first.
std::unique_ptr<uint8_t[]> read_blocks(const GgufFile& file, const GgufFile::Entry& entry,
                                       int64_t begin, int64_t end) {
  const int64_t each = entry.type->block_bytes;
  const auto size = static_cast<size_t>((end - begin) * each);
  std::unique_ptr<uint8_t[]> blocks(new uint8_t[size]);  // uninitialised
  file.read(entry, reinterpret_cast<char*>(blocks.get()), size, static_cast<size_t>(begin * each));
  return blocks;
}

int64_t blocks_in_a_row(const GgufFile::Entry& entry) {
  const auto num_bytes = static_cast<int64_t>(entry.end - entry.begin);
  return num_bytes / entry.type->block_bytes / entry.shape[0];
}

void check_rows(const GgufFile::Entry& entry, int64_t begin, int64_t end) {
  PREDGEN_CHECK(0 <= begin && begin <= end && end <= entry.shape[0], "rows {} to {} of {}", begin,
                end, entry.shape[0]);
}

/// `index`: from the file's name, counted from 0.
void check_number(const GgufMetadata& metadata, size_t index) {
  const auto number = metadata.get<int64_t>("split.no");
  if (number == static_cast<int64_t>(index)) return;
  throw UserError(
      "{}: split.no, which counts from 0, is {}, but its name says part {}: give all "
      "parts their names, or download them again",
      metadata.where(), number, index + 1);
}

}  // namespace

GgufFile::GgufFile(const fs::path& file) {
  metadata_ = add_part(file).metadata;
  const std::vector<fs::path> paths = gguf_parts(file, *metadata_);
  if (paths.size() == 1) return;
  check_number(*metadata_, 0);
  for (size_t i = 1; i < paths.size(); ++i) check_number(*add_part(paths[i]).metadata, i);
  const auto expected = metadata_->find<int64_t>("split.tensors.count");
  if (expected && *expected != static_cast<int64_t>(entries_.size())) {
    throw UserError(
        "{}: split.tensors.count says {}, but its {} parts hold {} tensors: they are "
        "not of the same model, download them again",
        file.string(), *expected, paths.size(), entries_.size());
  }
}

GgufHeader GgufFile::add_part(const fs::path& file) {
  const auto mapped = std::make_shared<MappedFile>(file);
  GgufHeader header = parse_gguf_header(mapped);
  for (auto& [name, entry] : header.entries) {
    entry.part = parts_.size();
    if (!entries_.emplace(name, entry).second) {
      throw UserError("{}: tensor {} is in {}, too: the parts are not of one model", file.string(),
                      name, files_[entries_.at(name).part].string());
    }
  }
  files_.push_back(file);
  parts_.push_back(mapped);
  return header;
}

const GgufFile::Entry& GgufFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw UserError("{}: has no tensor {}", files_[0].string(), name);
  return found->second;
}

at::Tensor GgufFile::read_rows(const Entry& entry, int64_t begin, int64_t end) const {
  check_rows(entry, begin, end);
  const GgufType& type = *entry.type;
  std::vector<int64_t> shape = entry.shape;
  shape[0] = end - begin;
  if (type.is_plain()) {
    at::Tensor rows = at::empty(shape, type.plain);
    const size_t row_bytes = (entry.end - entry.begin) / static_cast<size_t>(entry.shape[0]);
    read(entry, static_cast<char*>(rows.mutable_data_ptr()), rows.nbytes(),
         static_cast<size_t>(begin) * row_bytes);
    return rows;
  }
  if (shape.size() == 1) {  // rows shorter than a block
    Entry whole = entry;
    whole.shape.insert(whole.shape.begin(), 1);
    return read_rows(whole, 0, 1)[0].slice(0, begin, end).clone();
  }
  at::Tensor rows = at::empty(shape, at::kFloat);
  auto* values = rows.mutable_data_ptr<float>();
  const int64_t first = begin * blocks_in_a_row(entry);
  for_each_chunk(type, rows.numel() / type.block_values, [&](int64_t from, int64_t to) {
    const auto blocks = read_blocks(*this, entry, first + from, first + to);
    std::vector<int8_t> codes(static_cast<size_t>((to - from) * type.block_values));
    const auto num_groups = static_cast<int64_t>(codes.size()) / type.layout.group;
    std::vector<float> scales(static_cast<size_t>(num_groups)), offsets(scales.size());
    type.unpack(blocks.get(), to - from, codes.data(), scales.data(), offsets.data());
    combine_codes(codes.data(), scales.data(), offsets.data(), num_groups, type.layout.group,
                  type.layout.book ? type.layout.book->data() : nullptr,
                  values + from * type.block_values);
  });
  return rows;
}

CodedRows GgufFile::read_codes(const Entry& entry, int64_t begin, int64_t end) const {
  check_rows(entry, begin, end);
  const GgufType& type = *entry.type;
  PREDGEN_CHECK(!type.is_plain() && entry.shape.size() == 2, "{} with {} dimensions", type.name,
                entry.shape.size());
  const int64_t inputs = entry.shape[1], groups = inputs / type.layout.group;
  CodedRows rows{at::empty({end - begin, inputs}, at::kChar),
                 at::empty({end - begin, groups}, at::kFloat),
                 at::empty({end - begin, groups}, at::kFloat),
                 {}};
  const int64_t scale_bytes = block_scale_bytes(type.layout.blocks);
  if (scale_bytes > 0) {
    rows.blocks = at::empty({end - begin, inputs / kBlockInputs * scale_bytes}, at::kByte);
  }
  auto* codes = rows.codes.mutable_data_ptr<int8_t>();
  auto* scales = rows.scales.mutable_data_ptr<float>();
  auto* offsets = rows.offsets.mutable_data_ptr<float>();
  const int64_t block_groups = type.block_values / type.layout.group;
  const int64_t first = begin * blocks_in_a_row(entry);
  for_each_chunk(type, rows.codes.numel() / type.block_values, [&](int64_t from, int64_t to) {
    const auto blocks = read_blocks(*this, entry, first + from, first + to);
    type.unpack(blocks.get(), to - from, codes + from * type.block_values,
                scales + from * block_groups, offsets + from * block_groups);
    if (scale_bytes == 0) return;
    auto* to_scales = rows.blocks.mutable_data_ptr<uint8_t>();
    for (int64_t i = from; i < to; ++i) {
      std::memcpy(to_scales + i * scale_bytes,
                  blocks.get() + (i - from) * type.block_bytes + type.scales_at,
                  static_cast<size_t>(scale_bytes));
    }
  });
  return rows;
}

at::Tensor GgufFile::view(const Entry& entry) const {
  const at::ScalarType type = entry.type->plain;
  PREDGEN_CHECK(entry.type->is_plain(), "a view of {}", entry.type->name);
  const std::shared_ptr<MappedFile>& mapped = parts_[entry.part];
  char* data = mapped->data() + entry.begin;
  if (reinterpret_cast<uintptr_t>(data) % at::elementSize(type) != 0) {
    at::Tensor copy = at::empty(entry.shape, type);
    std::memcpy(copy.mutable_data_ptr(), data, copy.nbytes());
    return copy;
  }
  return at::from_blob(
      data, entry.shape, [keep_alive = mapped](void*) {}, at::TensorOptions(type));
}

void GgufFile::read(const Entry& entry, char* to, size_t num_bytes, size_t offset) const {
  const size_t size = entry.end - entry.begin;
  PREDGEN_CHECK(offset <= size && num_bytes <= size - offset, "{} bytes at {} of {}", num_bytes,
                offset, size);
  parts_[entry.part]->read(to, num_bytes, entry.begin + offset);
}

void GgufFile::forget(const Entry& entry) const {
  parts_[entry.part]->forget(entry.begin, entry.end);
}

GgufMetadata read_gguf_metadata(const fs::path& file) {
  return parse_gguf_metadata(std::make_shared<MappedFile>(file));
}

}  // namespace predgen
