#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "tensors/gguf_blocks.h"
#include "tensors/gguf_metadata.h"

namespace predgen {

/// Makes a GGUF file, also one that is wrong: nothing but the names of types is checked.
///
///   GgufWriter().add("general.architecture", "llama").tensor("x", "F32", {2, 3},
///   bytes).write(path)
class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3) : version_(version) {}

  /// bool, a number in its own type, text, or a std::vector of numbers or std::string.
  GgufWriter& add(std::string_view key, std::string_view value) {
    return add_raw(key, GgufValueType::kString, string(value));
  }
  GgufWriter& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  template <typename T>
  requires std::is_arithmetic_v<T> GgufWriter& add(std::string_view key, T value) {
    return add_raw(key, type_of<T>(), bytes_of(value));
  }
  template <typename T>
  GgufWriter& add(std::string_view key, const std::vector<T>& values) {
    GgufValueType type = GgufValueType::kString;
    std::string bytes;
    for (const T& value : values) {
      if constexpr (std::is_arithmetic_v<T>) {
        bytes += bytes_of(value);
      } else {
        bytes += string(value);
      }
    }
    if constexpr (std::is_arithmetic_v<T>) type = type_of<T>();
    return add_raw(key, GgufValueType::kList,
                   bytes_of(type) + bytes_of(uint64_t{values.size()}) + bytes);
  }
  GgufWriter& add_raw(std::string_view key, GgufValueType type, const std::string& bytes) {
    ++num_keys_;
    keys_ += string(key) + bytes_of(type) + bytes;
    return *this;
  }

  /// `shape`: outermost first. `bytes`: as stored.
  GgufWriter& tensor(std::string_view name, std::string_view type,
                     const std::vector<uint64_t>& shape, std::string_view bytes) {
    data_.resize((data_.size() + alignment_ - 1) / alignment_ * alignment_, '\0');
    raw_tensor(name, number_of(type), shape, data_.size());
    data_ += bytes;
    return *this;
  }
  template <typename T>
  GgufWriter& tensor(std::string_view name, std::string_view type,
                     const std::vector<uint64_t>& shape, const std::vector<T>& values) {
    return tensor(name, type, shape,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  /// Without data. `offset`: from where data begin.
  GgufWriter& raw_tensor(std::string_view name, uint32_t type, const std::vector<uint64_t>& shape,
                         uint64_t offset) {
    ++num_tensors_;
    tensors_ += string(name) + bytes_of(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i > 0; --i) tensors_ += bytes_of(shape[i - 1]);
    tensors_ += bytes_of(type) + bytes_of(offset);
    return *this;
  }
  GgufWriter& data(std::string_view bytes) {
    data_ += bytes;
    return *this;
  }

  /// What the file says about itself, true or not. A multiple of other than 32 bytes needs the key
  /// general.alignment.
  GgufWriter& alignment(uint64_t multiple) {
    alignment_ = multiple;
    return *this;
  }
  GgufWriter& num_tensors(uint64_t count) {
    num_tensors_ = count;
    return *this;
  }
  GgufWriter& num_keys(uint64_t count) {
    num_keys_ = count;
    return *this;
  }

  std::string bytes() const {
    std::string file = "GGUF" + bytes_of(version_) + bytes_of(num_tensors_) + bytes_of(num_keys_);
    file += keys_ + tensors_;
    if (!data_.empty()) file.resize((file.size() + alignment_ - 1) / alignment_ * alignment_, '\0');
    return file + data_;
  }
  void write(const std::filesystem::path& file) const {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes();
  }

  static std::string string(std::string_view text) {
    return bytes_of(uint64_t{text.size()}).append(text);
  }
  template <typename T>
  static std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }

 private:
  static uint32_t number_of(std::string_view type) {
    for (const GgufType& known : gguf_types()) {
      if (known.name == type) return known.number;
    }
    throw Error("no type {}", type);
  }
  template <typename T>
  static constexpr GgufValueType type_of() {
    using enum GgufValueType;
    if constexpr (std::is_same_v<T, bool>) {
      return kBool;
    } else if constexpr (std::is_floating_point_v<T>) {
      return sizeof(T) == 4 ? kFloat32 : kFloat64;
    } else {
      constexpr bool kSigned = std::is_signed_v<T>;
      return sizeof(T) == 1   ? (kSigned ? kInt8 : kUint8)
             : sizeof(T) == 2 ? (kSigned ? kInt16 : kUint16)
             : sizeof(T) == 4 ? (kSigned ? kInt32 : kUint32)
                              : (kSigned ? kInt64 : kUint64);
    }
  }

  const uint32_t version_;
  uint64_t num_tensors_ = 0, num_keys_ = 0, alignment_ = 32;
  std::string keys_, tensors_, data_;
};

}  // namespace predgen
