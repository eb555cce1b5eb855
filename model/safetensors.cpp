#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the official library's limit
constexpr size_t kLengthBytes = 8;                 // the header's length, little endian

struct TypeName {
  const char* name;
  at::ScalarType type;
};

/// In the order in which the official library writes them.
constexpr TypeName kTypes[] = {
    {"I64", at::kLong},      {"F64", at::kDouble}, {"F32", at::kFloat}, {"I32", at::kInt},
    {"BF16", at::kBFloat16}, {"F16", at::kHalf},   {"I16", at::kShort}, {"I8", at::kChar},
    {"U8", at::kByte},       {"BOOL", at::kBool},
};

size_t type_rank(at::ScalarType type, const std::string& tensor) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].type == type) return i;
  }
  throw Error("tensor {}: safetensors files cannot hold {} here", tensor, at::toString(type));
}

/// Parses the header and refuses duplicate keys, which nlohmann::json keeps silent about.
Json parse_header(std::string_view text, const std::string& where) {
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
  try {
    return Json::parse(text, check);
  } catch (const nlohmann::json::exception& error) {
    throw UserError("{}: the header is not valid JSON: {}", where, error.what());
  }
}

at::ScalarType entry_type(const Json& json, const std::string& where) {
  const auto name = json_get<std::string>(json, "dtype", where);
  for (const TypeName& known : kTypes) {
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

/// `data_begin`, `file_size`: byte offsets in the file between which tensors lie.
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

std::string make_header(const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t end = offset + tensor.nbytes();
    header[name] = {{"dtype", kTypes[type_rank(tensor.scalar_type(), name)].name},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  return text;
}

}  // namespace

/// MAP_PRIVATE and writable: a tensor changed in place (training, merging) gets its own pages, and
/// the file stays as it is.
class SafetensorsFile::Mapping {
 public:
  explicit Mapping(const fs::path& file) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      throw UserError("{}: cannot be opened: {}", file.string(), std::strerror(errno));
    }
    struct stat status {};
    const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    size_ = regular ? static_cast<size_t>(status.st_size) : 0;
    void* address = MAP_FAILED;
    if (size_ > 0) {
      address =
          mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    }
    const int reason = errno;
    close(descriptor);
    if (!regular) throw UserError("{}: is not a file", file.string());
    if (size_ == 0) throw UserError("{}: is empty", file.string());
    if (address == MAP_FAILED) {
      throw Error("{}: cannot be mapped: {}", file.string(), std::strerror(reason));
    }
    data_ = static_cast<char*>(address);
  }
  ~Mapping() { munmap(data_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

SafetensorsFile::SafetensorsFile(const fs::path& file)
    : file_(file), mapping_(std::make_shared<Mapping>(file)) {
  const std::string where = file.string();
  const size_t file_size = mapping_->size();
  if (file_size < kLengthBytes) throw UserError("{}: is too short to be a safetensors file", where);
  uint64_t header_size = 0;
  std::memcpy(&header_size, mapping_->data(), kLengthBytes);
  if (header_size > kMaxHeaderBytes) {
    throw UserError("{}: header of {} bytes, at most {} are allowed; is it a safetensors file?",
                    where, header_size, kMaxHeaderBytes);
  }
  if (header_size > file_size - kLengthBytes) {
    throw UserError("{}: header of {} bytes in a file of {}: it is truncated", where, header_size,
                    file_size);
  }
  const std::string_view text(mapping_->data() + kLengthBytes, header_size);
  if (!text.starts_with('{')) throw UserError("{}: the header does not start with {{", where);
  const size_t data_begin = kLengthBytes + header_size;
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

at::Tensor SafetensorsFile::tensor(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw UserError("{}: has no tensor {}", file_.string(), name);
  const Entry& entry = found->second;
  char* data = mapping_->data() + entry.begin;
  const at::TensorOptions options = at::TensorOptions().dtype(entry.dtype);
  if (reinterpret_cast<uintptr_t>(data) % at::elementSize(entry.dtype) != 0) {
    // Old writers did not pad the header; such a tensor cannot be used in place.
    at::Tensor copy = at::empty(entry.shape, options);
    std::memcpy(copy.data_ptr(), data, entry.end - entry.begin);
    return copy;
  }
  return at::from_blob(
      data, entry.shape, [keep_alive = mapping_](void*) {}, options);
}

void write_safetensors(const fs::path& file, const std::map<std::string, at::Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, at::Tensor>> order(tensors.begin(), tensors.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& left, const auto& right) {
    return type_rank(left.second.scalar_type(), left.first) <
           type_rank(right.second.scalar_type(), right.first);
  });
  const std::string header = make_header(order, metadata);
  const uint64_t header_size = header.size();
  write_file(file, [&](std::ostream& stream) {
    stream.write(reinterpret_cast<const char*>(&header_size), kLengthBytes);
    stream.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const auto& [name, tensor] : order) {
      const at::Tensor data = tensor.detach().cpu().contiguous();
      stream.write(static_cast<const char*>(data.const_data_ptr()),
                   static_cast<std::streamsize>(data.nbytes()));
      if (!stream) break;
    }
  });
}

}  // namespace predgen
