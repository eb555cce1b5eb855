#include "tensors/gguf_header.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "tensors/gguf_metadata.h"
#include "tensors/mapped_file.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// Reads a GGUF file from its beginning; UserError at its end. No length or count that it returns
/// exceeds what is left.
class GgufCursor {
 public:
  explicit GgufCursor(const MappedFile& file)
      : left_(file.data(), file.size()), size_(file.size()), where_(file.where()) {}

  const std::string& where() const { return where_; }
  size_t position() const { return size_ - left_.size(); }

  std::string_view take(uint64_t num_bytes) {
    if (num_bytes > left_.size()) {
      throw UserError("{}: ends inside its header: it is truncated or damaged, download it again",
                      where_);
    }
    const std::string_view taken = left_.substr(0, num_bytes);
    left_.remove_prefix(num_bytes);
    return taken;
  }

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view string() { return take(number<uint64_t>()); }

  /// A count of items of at least `least_bytes` bytes each.
  uint64_t count(const char* things, size_t least_bytes) {
    const auto value = number<uint64_t>();
    if (value > left_.size() / least_bytes) {
      throw UserError(
          "{}: says that it has {} {}, for which its {} bytes are too few: it is "
          "truncated or damaged, download it again",
          where_, value, things, size_);
    }
    return value;
  }

  /// A key or a name. Must be printable, as it appears in messages.
  std::string name(const char* what, size_t most_bytes) {
    const std::string_view text = string();
    if (text.empty() || text.size() > most_bytes) {
      throw UserError("{}: {} at byte {} has {} bytes, but may have 1 to {}: the file is damaged",
                      where_, what, position() - text.size(), text.size(), most_bytes);
    }
    require_utf8(text, fmt::format("{}: {} at byte {}", where_, what, position() - text.size()));
    const auto unseen = [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7F; };
    if (std::any_of(text.begin(), text.end(), unseen)) {
      throw UserError("{}: {} at byte {} has control characters: the file is damaged", where_, what,
                      position() - text.size());
    }
    return std::string(text);
  }

 private:
  std::string_view left_;
  const size_t size_;
  const std::string where_;
};

static_assert(std::endian::native == std::endian::little);

using Values = std::map<std::string, GgufMetadata::Value, std::less<>>;

constexpr uint32_t kOldest = 2, kNewest = 3;  // versions
constexpr size_t kMostKeyBytes = 65535, kMostNameBytes = 256;
constexpr uint32_t kMostSizes = 4;  // of a tensor's shape
constexpr size_t kLeastKeyBytes = 8 + 4 + 1, kLeastTensorBytes = 8 + 4 + 8 + 4 + 8;

void check_booleans(std::string_view bytes, const std::string& where) {
  const auto wrong =
      std::find_if(bytes.begin(), bytes.end(), [](char c) { return c != 0 && c != 1; });
  if (wrong != bytes.end()) {
    throw UserError("{} has {} for a boolean: the file is damaged", where,
                    static_cast<unsigned char>(*wrong));
  }
}

GgufMetadata::List read_list(GgufCursor& cursor, const std::string& where) {
  GgufMetadata::List list;
  list.type = cursor.number<uint32_t>();
  const auto type = static_cast<GgufValueType>(list.type);
  if (type == GgufValueType::kList) {
    throw UserError("{} is a list of lists, which are not supported", where);
  }
  if (type == GgufValueType::kString) {
    list.count = cursor.count("strings in a list", sizeof(uint64_t));
    const char* begin = cursor.take(0).data();
    for (uint64_t i = 0; i < list.count; ++i) cursor.string();
    list.bytes = std::string_view(begin, static_cast<size_t>(cursor.take(0).data() - begin));
    return list;
  }
  const size_t each = value_bytes(type);
  if (each == 0) {
    throw UserError("{} is a list of values of type {}, which GGUF does not have", where,
                    list.type);
  }
  list.count = cursor.count("values in a list", each);
  list.bytes = cursor.take(list.count * each);
  if (type == GgufValueType::kBool) check_booleans(list.bytes, where);
  return list;
}

template <typename T>
GgufMetadata::Value whole_number(GgufCursor& cursor) {
  const T value = cursor.number<T>();
  if (std::in_range<int64_t>(value)) return static_cast<int64_t>(value);
  return static_cast<uint64_t>(value);
}

GgufMetadata::Value read_value(GgufCursor& cursor, const std::string& where) {
  const auto number = cursor.number<uint32_t>();
  switch (static_cast<GgufValueType>(number)) {
    case GgufValueType::kUint8:
      return whole_number<uint8_t>(cursor);
    case GgufValueType::kInt8:
      return whole_number<int8_t>(cursor);
    case GgufValueType::kUint16:
      return whole_number<uint16_t>(cursor);
    case GgufValueType::kInt16:
      return whole_number<int16_t>(cursor);
    case GgufValueType::kUint32:
      return whole_number<uint32_t>(cursor);
    case GgufValueType::kInt32:
      return whole_number<int32_t>(cursor);
    case GgufValueType::kUint64:
      return whole_number<uint64_t>(cursor);
    case GgufValueType::kInt64:
      return whole_number<int64_t>(cursor);
    case GgufValueType::kFloat32:
      return double{cursor.number<float>()};
    case GgufValueType::kFloat64:
      return cursor.number<double>();
    case GgufValueType::kBool: {
      const std::string_view byte = cursor.take(1);
      check_booleans(byte, where);
      return byte[0] == 1;
    }
    case GgufValueType::kString:
      return std::string(cursor.string());
    case GgufValueType::kList:
      return read_list(cursor, where);
  }
  throw UserError(
      "{} has type {}, which GGUF does not have: the file is damaged, or newer than "
      "version {}",
      where, number, kNewest);
}

void check_beginning(GgufCursor& cursor) {
  const std::string& where = cursor.where();
  const auto magic = cursor.number<uint32_t>();
  if (std::memcmp(&magic, "GGUF", sizeof magic) != 0) {
    throw UserError("{}: does not begin with \"GGUF\": it is not a GGUF file", where);
  }
  const auto version = cursor.number<uint32_t>();
  if (version >= kOldest && version <= kNewest) return;
  if ((version & 0xFFFF) == 0 && version != 0) {
    throw UserError(
        "{}: is a big-endian GGUF file; only little-endian ones are supported, so use "
        "that of the same model",
        where);
  }
  throw UserError("{}: is GGUF of version {}; supported are {} and {}{}", where, version, kOldest,
                  kNewest, version < kOldest ? ", so convert the model again" : "");
}

/// Up to the first tensor.
Values read_values(GgufCursor& cursor, uint64_t num_keys) {
  Values values;
  for (uint64_t i = 0; i < num_keys; ++i) {
    std::string key = cursor.name("a metadata key", kMostKeyBytes);
    const std::string where =
        fmt::format("{}: metadata key \"{}\"", cursor.where(), shortened(key));
    GgufMetadata::Value value = read_value(cursor, where);
    if (!values.emplace(std::move(key), std::move(value)).second) {
      throw UserError("{} occurs twice", where);
    }
  }
  return values;
}

struct Beginning {
  uint64_t num_tensors;
  Values values;
};

Beginning read_beginning(GgufCursor& cursor) {
  check_beginning(cursor);
  const uint64_t num_tensors = cursor.count("tensors", kLeastTensorBytes);
  const uint64_t num_keys = cursor.count("metadata keys", kLeastKeyBytes);
  return {num_tensors, read_values(cursor, num_keys)};
}

const GgufType& tensor_type(uint32_t number, const std::string& where) {
  if (const GgufType* type = find_gguf_type(number)) return *type;
  std::string supported;
  for (const GgufType& type : gguf_types())
    supported = joined(supported, ", ", std::string(type.name));
  const std::string_view name = gguf_type_name(number);
  throw UserError("{} has type {}; supported are {}", where,
                  name.empty() ? std::to_string(number) : std::string(name), supported);
}

/// Its offsets are relative to the first tensor.
GgufFile::Entry read_entry(GgufCursor& cursor, const std::string& where, uint64_t alignment) {
  const auto num_sizes = cursor.number<uint32_t>();
  if (num_sizes < 1 || num_sizes > kMostSizes) {
    throw UserError("{} has {} dimensions, but may have 1 to {}: the file is damaged", where,
                    num_sizes, kMostSizes);
  }
  GgufFile::Entry entry{};
  uint64_t num_values = 1;
  for (uint32_t i = 0; i < num_sizes; ++i) {
    const auto size = cursor.number<uint64_t>();
    if (size == 0) throw UserError("{} has no values: the file is damaged", where);
    if (__builtin_mul_overflow(num_values, size, &num_values) || num_values > INT64_MAX) {
      throw UserError("{}: its shape is too large: the file is damaged", where);
    }
    entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(size));
  }
  entry.type = &tensor_type(cursor.number<uint32_t>(), where);
  if (entry.shape.back() % entry.type->block_values != 0) {
    throw UserError("{} has rows of {} values, but {} stores {} at a time: the file is damaged",
                    where, entry.shape.back(), entry.type->name, entry.type->block_values);
  }
  const auto offset = cursor.number<uint64_t>();
  if (offset % alignment != 0) {
    throw UserError(
        "{} begins at byte {} of the data, no multiple of {} (general.alignment): the "
        "file is damaged",
        where, offset, alignment);
  }
  uint64_t num_bytes = num_values / static_cast<uint64_t>(entry.type->block_values), end = 0;
  if (__builtin_mul_overflow(num_bytes, entry.type->block_bytes, &num_bytes) ||
      __builtin_add_overflow(offset, num_bytes, &end)) {
    throw UserError("{}: its shape or its place is too large: the file is damaged", where);
  }
  entry.begin = offset;
  entry.end = end;
  return entry;
}

void check_overlap(const std::map<std::string, GgufFile::Entry>& entries,
                   const std::string& where) {
  std::vector<const std::pair<const std::string, GgufFile::Entry>*> order;
  for (const auto& named : entries) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const auto* left, const auto* right) {
    return left->second.begin < right->second.begin;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->second.end > order[i]->second.begin) {
      throw UserError("{}: tensors {} and {} overlap: the file is damaged", where,
                      order[i - 1]->first, order[i]->first);
    }
  }
}

uint64_t alignment(const GgufMetadata& metadata) {
  const auto value = metadata.get_or<int64_t>("general.alignment", 32);
  if (value < 1 || !std::has_single_bit(static_cast<uint64_t>(value))) {
    throw UserError("{}: general.alignment is {}, which is no power of two: the file is damaged",
                    metadata.where(), value);
  }
  return static_cast<uint64_t>(value);
}

}  // namespace

GgufHeader parse_gguf_header(const std::shared_ptr<const MappedFile>& mapped) {
  GgufCursor cursor(*mapped);
  Beginning beginning = read_beginning(cursor);
  GgufHeader header;
  header.metadata =
      std::make_unique<GgufMetadata>(std::move(beginning.values), mapped->where(), mapped);
  const uint64_t multiple = alignment(*header.metadata);
  for (uint64_t i = 0; i < beginning.num_tensors; ++i) {
    const std::string name = cursor.name("the name of a tensor", kMostNameBytes);
    const std::string where = fmt::format("{}: tensor {}", mapped->where(), name);
    if (!header.entries.emplace(name, read_entry(cursor, where, multiple)).second) {
      throw UserError("{} occurs twice", where);
    }
  }
  // No sum overflows: file sizes are far below 64 bits.
  const uint64_t data_begin = (cursor.position() + multiple - 1) / multiple * multiple;
  for (auto& [name, entry] : header.entries) {
    if (entry.end > mapped->size() || data_begin > mapped->size() - entry.end) {
      throw UserError(
          "{}: tensor {} ends behind the file's {} bytes: it is truncated, download it "
          "again",
          mapped->where(), name, mapped->size());
    }
    entry.begin += data_begin;
    entry.end += data_begin;
  }
  check_overlap(header.entries, mapped->where());
  return header;
}

GgufMetadata parse_gguf_metadata(const std::shared_ptr<const MappedFile>& mapped) {
  GgufCursor cursor(*mapped);
  return GgufMetadata(read_beginning(cursor).values, mapped->where(), mapped);
}

}  // namespace predgen
