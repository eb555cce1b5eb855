#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace predgen {

/// A tensor that a network is given, by the name of its input: float32 or int64, on the CPU.
struct OnnxInput {
  std::string name;
  at::Tensor values;
};

/// A network as an ONNX file has it. Used by any number of threads at a time.
class OnnxGraph {
 public:
  virtual ~OnnxGraph() = default;

  virtual const std::string& name() const = 0;                  // of its file, for messages
  virtual const std::vector<std::string>& inputs() const = 0;   // their names
  virtual const std::vector<std::string>& outputs() const = 0;  // likewise

  /// One pass. The outputs that are asked for, float32, in that order. Error where the network
  /// cannot take the inputs.
  virtual std::vector<at::Tensor> run(const std::vector<OnnxInput>& inputs,
                                      const std::vector<std::string>& outputs) const = 0;
};

/// UserError unless the network has these inputs and outputs: it is then none of `kind`.
void check_graph(const OnnxGraph& graph, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& kind);

}  // namespace predgen
