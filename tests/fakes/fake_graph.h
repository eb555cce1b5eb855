#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "voice/onnx/onnx_graph.h"

namespace predgen {

/// A network that is a function.
class FakeGraph : public OnnxGraph {
 public:
  using Run = std::function<std::vector<at::Tensor>(const std::vector<OnnxInput>&)>;
  FakeGraph(std::vector<std::string> inputs, std::vector<std::string> outputs, Run run)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), run_(std::move(run)) {}

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& inputs() const override { return inputs_; }
  const std::vector<std::string>& outputs() const override { return outputs_; }
  std::vector<at::Tensor> run(const std::vector<OnnxInput>& inputs,
                              const std::vector<std::string>&) const override {
    return run_(inputs);
  }

 private:
  const std::string name_ = "fake.onnx";
  const std::vector<std::string> inputs_, outputs_;
  const Run run_;
};

/// A graph with the names of Hibari's: as many frames as 6 for each id, whose values are drawn with
/// the ids as the seed. Its voice sounds at 200 Hz.
inline FakeGraph fake_hibari_graph() {
  return FakeGraph({"ids", "speed"}, {"lh", "theta", "ln", "lr", "phi", "f0"},
                   [](const std::vector<OnnxInput>& inputs) {
                     const at::Tensor& ids = inputs[0].values;
                     const auto seed = (ids * at::arange(ids.numel())).sum().item<int64_t>();
                     auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(seed));
                     const int64_t num_frames = 6 * ids.numel();
                     std::vector<at::Tensor> outputs;
                     for (int i = 0; i < 5; ++i) {
                       outputs.push_back(at::randn({1, 601, num_frames}, generator) - 2);
                     }
                     outputs.push_back(at::full({1, num_frames}, 200.0F));
                     return outputs;
                   });
}

}  // namespace predgen
