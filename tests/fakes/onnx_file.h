#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// A small network as an ONNX file has it, in protocol buffers.
class OnnxFile {
 public:
  enum class Type { kFloat = 1, kInt64 = 7 };

  /// A tensor of one dimension, of any length.
  void add_input(std::string_view name, Type type) { inputs_ += field(11, value(name, type)); }
  void add_output(std::string_view name, Type type) { outputs_ += field(12, value(name, type)); }

  /// `attributes`: as integer_attribute() gives them.
  void add_node(std::string_view operation, const std::vector<std::string>& inputs,
                std::string_view output, const std::string& attributes = {}) {
    std::string node;
    for (const std::string& name : inputs) node += field(1, name);
    node += field(2, output) + field(4, operation) + attributes;
    nodes_ += field(1, node);
  }

  static std::string integer_attribute(std::string_view name, uint64_t number) {
    constexpr uint64_t kInteger = 2;
    return field(5, field(1, name) + field(3, number) + field(20, kInteger));
  }

  std::string contents() const {
    const std::string graph = nodes_ + field(2, "graph") + inputs_ + outputs_;
    constexpr uint64_t kVersion = 8, kOperatorSet = 17;
    return field(1, kVersion) + field(7, graph) + field(8, field(1, "") + field(2, kOperatorSet));
  }

 private:
  static std::string number(uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
    return bytes + static_cast<char>(value);
  }
  static std::string field(uint64_t tag, uint64_t value) {
    return number(tag << 3) + number(value);
  }
  static std::string field(uint64_t tag, std::string_view bytes) {
    return number(tag << 3 | 2) + number(bytes.size()) + std::string(bytes);
  }
  static std::string value(std::string_view name, Type type) {
    const std::string shape = field(1, field(2, "n"));
    const std::string tensor = field(1, static_cast<uint64_t>(type)) + field(2, shape);
    return field(1, name) + field(2, field(1, tensor));
  }

  std::string nodes_, inputs_, outputs_;
};

}  // namespace predgen
