#include "model/weights/gguf_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/mutex.h"
#include "kernels/threads/parallel_ranges.h"
#include "model/weights/gguf_header.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

constexpr int64_t kChunk = int64_t{1} << 15;  // values that stay in a cache

/// Of "<prefix>-00001-of-00003.gguf".
struct PartName {
  std::string prefix;
  int64_t number, count;

  fs::path part(const fs::path& folder, int64_t other) const {
    return folder / fmt::format("{}-{:05}-of-{:05}.gguf", prefix, other, count);
  }
};

std::optional<PartName> parse_part_name(const std::string& name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";  // 0: a digit
  if (name.size() <= kPattern.size()) return std::nullopt;
  const size_t prefix = name.size() - kPattern.size();
  for (size_t i = 0; i < kPattern.size(); ++i) {
    const char c = name[prefix + i];
    if (kPattern[i] == '0' ? c < '0' || c > '9' : c != kPattern[i]) return std::nullopt;
  }
  return PartName{name.substr(0, prefix), std::stoll(name.substr(prefix + 1, 5)),
                  std::stoll(name.substr(prefix + 10, 5))};
}

/// The paths of all parts, of which `first` must be the first; of a file that is no part, itself.
std::vector<fs::path> all_parts(const fs::path& first, const GgufMetadata& metadata) {
  const std::string& where = metadata.where();
  const std::optional<PartName> name = parse_part_name(first.filename().string());
  const auto count = metadata.get_or<int64_t>("split.count", 1);
  if (count <= 1 && (!name || name->count <= 1)) return {first};
  if (!name || name->count != count) {
    throw UserError(
        "{}: split.count says that it is one of {} parts, its name does not: give all "
        "parts their names (\"NAME-00001-of-{:05}.gguf\"), or download them again",
        where, count, count);
  }
  if (name->number != 1 || metadata.get<int64_t>("split.no") != 0) {
    throw UserError("{}: is part {} of {} of a model: give the first one, {}", where,
                    metadata.get<int64_t>("split.no") + 1, count,
                    name->part(first.parent_path(), 1).string());
  }
  std::vector<fs::path> parts;
  for (int64_t i = 1; i <= count; ++i) {
    parts.push_back(name->part(first.parent_path(), i));
    if (!fs::exists(parts.back())) {
      throw UserError("{}: part {} of {} is missing: put it beside the others",
                      parts.back().string(), i, count);
    }
  }
  return parts;
}

/// Calls work(begin, end) for chunks of `count` blocks, on as many threads as LibTorch was told to
/// use. Throws what `work` throws first.
void for_each_chunk(const GgufType& type, int64_t count,
                    const std::function<void(int64_t, int64_t)>& work) {
  const int64_t grain = kChunk / type.block_values;
  std::atomic<bool> failed = false;
  Mutex mutex;  // guards `error`
  std::exception_ptr error;
  parallel_ranges(count, grain, [&](int64_t begin, int64_t end) {
    try {
      for (; begin < end && !failed; begin += grain) work(begin, std::min(end, begin + grain));
    } catch (...) {
      failed = true;
      const Lock lock(mutex);
      if (!error) error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

int64_t num_values(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

void combine(const int8_t* __restrict codes, float scale, float offset, int64_t count,
             float* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = scale * static_cast<float>(codes[i]) + offset;
}

}  // namespace

GgufFile::GgufFile(const fs::path& file) {
  GgufHeader header = add_part(file);
  metadata_ = std::move(header.metadata);
  const std::vector<fs::path> paths = all_parts(file, *metadata_);
  for (size_t i = 1; i < paths.size(); ++i) {
    const GgufHeader part = add_part(paths[i]);
    const auto number = part.metadata->get<int64_t>("split.no");
    if (number != static_cast<int64_t>(i)) {
      throw UserError(
          "{}: split.no says that it is part {}, its name {}: give all parts their "
          "names, or download them again",
          paths[i].string(), number + 1, i + 1);
    }
  }
  const auto expected = metadata_->find<int64_t>("split.tensors.count");
  if (paths.size() > 1 && expected && *expected != static_cast<int64_t>(entries_.size())) {
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
  const GgufType& type = *entry.type;
  std::vector<int64_t> shape = entry.shape;
  PREDGEN_CHECK(0 <= begin && begin <= end && end <= shape[0], "rows {} to {} of {}", begin, end,
                shape[0]);
  shape[0] = end - begin;
  if (type.is_plain()) {
    at::Tensor rows = at::empty(shape, type.plain);
    const size_t row_bytes = (entry.end - entry.begin) / static_cast<size_t>(entry.shape[0]);
    read(entry, static_cast<char*>(rows.mutable_data_ptr()), rows.nbytes(),
         static_cast<size_t>(begin) * row_bytes);
    return rows;
  }
  if (shape.size() == 1) {  // its rows are values, and no blocks
    Entry whole = entry;
    whole.shape.insert(whole.shape.begin(), 1);
    return read_rows(whole, 0, 1)[0].slice(0, begin, end).clone();
  }
  at::Tensor rows = at::empty(shape, at::kFloat);
  auto* values = rows.mutable_data_ptr<float>();
  const int64_t group = type.layout.group;
  const int64_t first = begin * (num_values(entry.shape) / entry.shape[0]) / type.block_values;
  for_each_chunk(type, rows.numel() / type.block_values, [&](int64_t from, int64_t to) {
    std::vector<uint8_t> blocks((to - from) * type.block_bytes);
    std::vector<int8_t> codes((to - from) * type.block_values);
    std::vector<float> scales(codes.size() / group), offsets(scales.size());
    read(entry, reinterpret_cast<char*>(blocks.data()), blocks.size(),
         static_cast<size_t>((first + from) * type.block_bytes));
    type.unpack(blocks.data(), to - from, codes.data(), scales.data(), offsets.data());
    float* target = values + from * type.block_values;
    for (size_t i = 0; i < scales.size(); ++i) {
      const auto place = static_cast<int64_t>(i) * group;
      combine(codes.data() + place, scales[i], offsets[i], group, target + place);
    }
  });
  return rows;
}

CodedRows GgufFile::read_codes(const Entry& entry, int64_t begin, int64_t end) const {
  const GgufType& type = *entry.type;
  PREDGEN_CHECK(!type.is_plain() && entry.shape.size() == 2, "{} with {} dimensions", type.name,
                entry.shape.size());
  PREDGEN_CHECK(0 <= begin && begin <= end && end <= entry.shape[0], "rows {} to {} of {}", begin,
                end, entry.shape[0]);
  const int64_t inputs = entry.shape[1], groups = inputs / type.layout.group;
  CodedRows rows{at::empty({end - begin, inputs}, at::kChar),
                 at::empty({end - begin, groups}, at::kFloat),
                 at::empty({end - begin, groups}, at::kFloat)};
  auto* codes = rows.codes.mutable_data_ptr<int8_t>();
  auto *scales = rows.scales.mutable_data_ptr<float>(),
       *offsets = rows.offsets.mutable_data_ptr<float>();
  const int64_t first = begin * (inputs / type.block_values);
  const int64_t block_groups = type.block_values / type.layout.group;
  for_each_chunk(type, rows.codes.numel() / type.block_values, [&](int64_t from, int64_t to) {
    std::vector<uint8_t> blocks((to - from) * type.block_bytes);
    read(entry, reinterpret_cast<char*>(blocks.data()), blocks.size(),
         static_cast<size_t>((first + from) * type.block_bytes));
    type.unpack(blocks.data(), to - from, codes + from * type.block_values,
                scales + from * block_groups, offsets + from * block_groups);
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
