#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace predgen {

/// An input tensor of a network, by name: float32 or int64, on the CPU.
struct OnnxInput {
  std::string name;
  at::Tensor values;
};

/// A network from an ONNX file. Used by any number of threads at a time.
class OnnxGraph {
 public:
  virtual ~OnnxGraph() = default;

  virtual const std::string& name() const = 0;                  // of its file, for messages
  virtual const std::vector<std::string>& inputs() const = 0;   // their names
  virtual const std::vector<std::string>& outputs() const = 0;  // likewise

  /// Runs one pass. Returns the requested outputs, float32, in that order. Error if the network
  /// rejects the inputs.
  virtual std::vector<at::Tensor> run(const std::vector<OnnxInput>& inputs,
                                      const std::vector<std::string>& outputs) const = 0;
};

/// UserError unless the network has these inputs and outputs: otherwise it is not of `kind`.
void check_graph(const OnnxGraph& graph, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& kind);

}  // namespace predgen
