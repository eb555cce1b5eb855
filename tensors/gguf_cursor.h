#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.h"
#include "tensors/mapped_file.h"
#include "text/utf8.h"

namespace predgen {

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

}  // namespace predgen
