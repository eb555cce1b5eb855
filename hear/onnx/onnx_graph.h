#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace predgen {

/// An input tensor of a network, by name, on the CPU: int64 if it has integers, bool if it has
/// flags, else float32. The last dimension is contiguous. Borrows its values.
struct OnnxInput {
  std::string name;
  std::vector<int64_t> shape;  // empty: a scalar
  std::span<const float> floats{};
  std::span<const int64_t> integers{};
  std::span<const bool> flags{};
};

/// An output tensor, float32, laid out in the same way. Copies share its memory.
struct OnnxOutput {
  std::vector<int64_t> shape{};
  std::span<const float> values{};
  std::shared_ptr<const void> owner{};  // of the values
};

/// A network from an ONNX file. Used by any number of threads at a time.
class OnnxGraph {
 public:
  virtual ~OnnxGraph() = default;

  virtual const std::string& name() const = 0;                  // of its file, for messages
  virtual const std::vector<std::string>& inputs() const = 0;   // their names
  virtual const std::vector<std::string>& outputs() const = 0;  // likewise

  /// Runs one pass. Returns the requested outputs, in that order. Error if the network rejects the
  /// inputs; Interrupted soon after a stop was requested, from any thread.
  virtual std::vector<OnnxOutput> run(const std::vector<OnnxInput>& inputs,
                                      const std::vector<std::string>& outputs,
                                      const std::stop_token& stop) const = 0;
};

/// UserError unless the network has these inputs and outputs: otherwise it is not of `kind`.
void check_graph(const OnnxGraph& graph, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& kind);

}  // namespace predgen
