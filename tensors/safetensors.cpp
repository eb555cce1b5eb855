#include "tensors/safetensors.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "tensors/stored_tensors.h"

namespace predgen {

namespace fs = std::filesystem;

namespace {

constexpr SafetensorsType kSafetensorsTypes[] = {
    {"I64", at::kLong},      {"F64", at::kDouble}, {"F32", at::kFloat}, {"I32", at::kInt},
    {"BF16", at::kBFloat16}, {"F16", at::kHalf},   {"I16", at::kShort}, {"I8", at::kChar},
    {"U8", at::kByte},       {"BOOL", at::kBool},
};

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the official library's limit

/// Parses the header and rejects duplicate keys, which nlohmann::json ignores silently.
Json parse_header(std::string_view text, const std::string& where) {
  check_json_depth(text, where);
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      throw UserError("{}: \"{}\" occurs twice in the header", where, parsed.get<std::string>());
    }
    return true;
  };
  return checked_json(where + ": the header is not valid JSON",
                      [&] { return Json::parse(text, check); });
}

at::ScalarType entry_type(const Json& json, const std::string& where) {
  const auto name = json_get<std::string>(json, "dtype", where);
  for (const SafetensorsType& known : safetensors_types()) {
    if (name == known.name) return known.type;
  }
  throw UserError(
      "{}: type \"{}\" is not supported (F32, F16, BF16, F64, I64, I32, I16, I8, U8, "
      "BOOL are)",
      where, name);
}

std::vector<uint64_t> unsigned_list(const Json& json, const char* key, const std::string& where) {
  std::vector<uint64_t> values;
  const Json& list = json.contains(key) ? json.at(key) : Json();
  if (!list.is_array()) throw UserError("{}: \"{}\" must be a list of numbers", where, key);
  for (const Json& value : list) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) {
      throw UserError("{}: \"{}\" holds {}, which is not a size", where, key, value.dump());
    }
    values.push_back(value.get<uint64_t>());
  }
  return values;
}

/// `data_begin`, `file_size`: the byte offsets in the file that enclose the tensors.
SafetensorsFile::Entry parse_entry(const Json& json, const std::string& where, size_t data_begin,
                                   size_t file_size) {
  SafetensorsFile::Entry entry;
  if (!json.is_object()) throw UserError("{}: its header entry is not an object", where);
  entry.dtype = entry_type(json, where);
  uint64_t num_bytes = at::elementSize(entry.dtype);
  for (const uint64_t size : unsigned_list(json, "shape", where)) {
    if (__builtin_mul_overflow(num_bytes, size, &num_bytes)) {
      throw UserError("{}: its shape is too large", where);
    }
    entry.shape.push_back(static_cast<int64_t>(size));
  }
  const std::vector<uint64_t> offsets = unsigned_list(json, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw UserError("{}: \"data_offsets\" must be [begin, end]", where);
  }
  if (offsets[1] > file_size - data_begin) {
    throw UserError("{}: ends at byte {} of the data, but the file holds only {}: it is truncated",
                    where, offsets[1], file_size - data_begin);
  }
  if (offsets[1] - offsets[0] != num_bytes) {
    throw UserError("{}: shape and type need {} bytes, but its data has {}", where, num_bytes,
                    offsets[1] - offsets[0]);
  }
  entry.begin = data_begin + offsets[0];
  entry.end = data_begin + offsets[1];
  return entry;
}

/// The tensors must fill the data exactly, one after the other.
void check_layout(const std::map<std::string, SafetensorsFile::Entry>& entries,
                  const std::string& where, size_t data_begin, size_t file_size) {
  std::vector<std::pair<std::pair<size_t, size_t>, std::string>> order;
  for (const auto& [name, entry] : entries) order.push_back({{entry.begin, entry.end}, name});
  std::sort(order.begin(), order.end());
  size_t expected = data_begin;
  for (const auto& [range, name] : order) {
    if (range.first != expected) {
      throw UserError("{}: tensor {} {} before it", where, name,
                      range.first < expected ? "overlaps the tensor" : "leaves a hole");
    }
    expected = range.second;
  }
  if (expected != file_size) {
    throw UserError("{}: {} bytes follow the last tensor", where, file_size - expected);
  }
}

}  // namespace

std::span<const SafetensorsType> safetensors_types() { return kSafetensorsTypes; }

SafetensorsFile::SafetensorsFile(const fs::path& file)
    : file_(file), mapping_(std::make_shared<MappedFile>(file)) {
  const std::string where = file.string();
  const size_t file_size = mapping_->size();
  if (file_size < kSafetensorsLengthBytes)
    throw UserError("{}: is too short to be a safetensors file", where);
  uint64_t header_size = 0;
  std::memcpy(&header_size, mapping_->data(), kSafetensorsLengthBytes);
  if (header_size > kMaxHeaderBytes) {
    throw UserError("{}: header of {} bytes, at most {} are allowed; is it a safetensors file?",
                    where, header_size, kMaxHeaderBytes);
  }
  if (header_size > file_size - kSafetensorsLengthBytes) {
    throw UserError("{}: header of {} bytes in a file of {}: it is truncated", where, header_size,
                    file_size);
  }
  const std::string_view text(mapping_->data() + kSafetensorsLengthBytes, header_size);
  if (!text.starts_with('{')) throw UserError("{}: the header does not start with {{", where);
  const size_t data_begin = kSafetensorsLengthBytes + header_size;
  const Json header = parse_header(text, where);
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      try {
        metadata_ = json.get<std::map<std::string, std::string>>();
      } catch (const nlohmann::json::exception&) {
        throw UserError("{}: \"__metadata__\" must map strings to strings", where);
      }
    } else {
      entries_[name] = parse_entry(json, where + ": tensor " + name, data_begin, file_size);
    }
  }
  check_layout(entries_, where, data_begin, file_size);
}

const SafetensorsFile::Entry& SafetensorsFile::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw UserError("{}: has no tensor {}", file_.string(), name);
  return found->second;
}

at::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const Entry& stored = entry(name);
  char* data = mapping_->data() + stored.begin;
  const at::TensorOptions options = at::TensorOptions().dtype(stored.dtype);
  if (reinterpret_cast<uintptr_t>(data) % at::elementSize(stored.dtype) != 0) {
    // Old writers did not pad the header; such a tensor cannot be used in place.
    at::Tensor copy = at::empty(stored.shape, options);
    if (copy.numel() > 0) std::memcpy(copy.data_ptr(), data, copy.nbytes());
    return copy;
  }
  return at::from_blob(
      data, stored.shape, [keep_alive = mapping_](void*) {}, options);
}

at::Tensor SafetensorsFile::load(const std::string& name, at::Device device,
                                 at::ScalarType dtype) const {
  constexpr uintptr_t kAlignment = 64;  // also that of LibTorch's own memory
  const Entry& stored = entry(name);
  const auto address = reinterpret_cast<uintptr_t>(mapping_->data() + stored.begin);
  if (device.is_cpu() && stored.dtype == dtype && address % kAlignment == 0) return tensor(name);
  const at::Tensor loaded = at::empty(stored.shape, at::TensorOptions(dtype).device(device));
  if (device.is_cpu()) {
    const auto read = [&](char* to, size_t num_bytes, size_t offset) {
      mapping_->read(to, num_bytes, stored.begin + offset);
    };
    read_converted(read, stored.dtype, loaded);
    return loaded;
  }
  for_each_block(stored.shape, [&](int64_t begin, int64_t end) {
    const at::Tensor rows = read_rows(name, begin, end);
    (stored.shape.empty() ? loaded : loaded.narrow(0, begin, end - begin)).copy_(rows);
  });
  return loaded;
}

at::Tensor SafetensorsFile::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  const Entry& stored = entry(name);
  std::vector<int64_t> shape = stored.shape;
  const int64_t num_rows = shape.empty() ? 1 : shape[0];
  PREDGEN_CHECK(0 <= begin && begin <= end && end <= num_rows, "rows {} to {} of {}", begin, end,
                name);
  if (!shape.empty()) shape[0] = end - begin;
  at::Tensor rows = at::empty(shape, stored.dtype);
  const size_t row_bytes =
      num_rows == 0 ? 0 : (stored.end - stored.begin) / static_cast<size_t>(num_rows);
  mapping_->read(static_cast<char*>(rows.data_ptr()), rows.nbytes(),
                 stored.begin + static_cast<size_t>(begin) * row_bytes);
  return rows;
}

void SafetensorsFile::forget(const std::string& name) const {
  mapping_->forget(entry(name).begin, entry(name).end);
}

// SafetensorsFolder of tensors/safetensors.h.

SafetensorsFolder::SafetensorsFolder(const fs::path& folder) : folder_(folder) {
  if (!fs::is_directory(folder)) throw UserError("{}: is not a folder", folder.string());
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(single)) {
    files_.emplace_back(single);
    for (const auto& [name, entry] : files_[0].entries()) where_[name] = 0;
    return;
  }
  if (!fs::exists(index)) {
    throw UserError("{}: has neither model.safetensors nor model.safetensors.index.json",
                    folder.string());
  }
  const Json json = read_json(index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    throw UserError("{}: \"weight_map\" must map tensor names to files", index.string());
  }
  std::map<std::string, size_t> file_index;
  for (const auto& [name, value] : json["weight_map"].items()) {
    const std::string file = value.is_string() ? value.get<std::string>() : "";
    if (file.empty() || fs::path(file).filename() != file) {
      throw UserError("{}: tensor {}: {} is not a file name", index.string(), name, value.dump());
    }
    if (!file_index.contains(file)) {
      std::error_code unusable;  // a name that is too long, for example
      if (!fs::exists(folder / file, unusable)) {
        throw UserError("{}: tensor {} is in {}, which is missing", index.string(), name, file);
      }
      file_index[file] = files_.size();
      files_.emplace_back(folder / file);
    }
    const size_t position = file_index[file];
    if (!files_[position].entries().contains(name)) {
      throw UserError("{}: {} has no tensor {}", index.string(), file, name);
    }
    where_[name] = position;
  }
  for (const auto& [file, position] : file_index) {
    for (const auto& [name, entry] : files_[position].entries()) {
      const auto listed = where_.find(name);
      if (listed == where_.end() || listed->second != position) {
        throw UserError("{}: {} holds tensor {}, which the index does not list there",
                        index.string(), file, name);
      }
    }
  }
}

std::vector<std::string> SafetensorsFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, position] : where_) names.push_back(name);
  return names;
}

const SafetensorsFile& SafetensorsFolder::file_of(const std::string& name) const {
  const auto found = where_.find(name);
  if (found == where_.end()) throw UserError("{}: has no tensor {}", folder_.string(), name);
  return files_[found->second];
}

TensorShape SafetensorsFolder::shape(const std::string& name) const {
  const SafetensorsFile::Entry& entry = file_of(name).entries().at(name);
  return {entry.dtype, entry.shape};
}

at::Tensor SafetensorsFolder::tensor(const std::string& name) const {
  return file_of(name).tensor(name);
}

at::Tensor SafetensorsFolder::load(const std::string& name, at::Device device,
                                   at::ScalarType dtype) const {
  return file_of(name).load(name, device, dtype);
}

at::Tensor SafetensorsFolder::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  return file_of(name).read_rows(name, begin, end);
}

// The writing half of tensors/safetensors.h.

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
