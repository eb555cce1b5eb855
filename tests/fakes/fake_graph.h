#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "hear/onnx/onnx_session.h"

namespace predgen {

/// A network that is a function of its inputs, in their order.
class FakeGraph : public OnnxGraph {
 public:
  using Run = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;
  FakeGraph(std::vector<std::string> inputs, std::vector<std::string> outputs, Run run)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), run_(std::move(run)) {}

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& inputs() const override { return inputs_; }
  const std::vector<std::string>& outputs() const override { return outputs_; }
  std::vector<OnnxOutput> run(const std::vector<OnnxInput>& inputs, const std::vector<std::string>&,
                              const std::stop_token&) const override {
    std::vector<at::Tensor> tensors;
    for (const OnnxInput& input : inputs) tensors.push_back(to_tensor(input));
    std::vector<OnnxOutput> outputs;
    for (const at::Tensor& output : run_(tensors)) {
      const auto kept = std::make_shared<const at::Tensor>(output.contiguous());
      outputs.push_back(
          {.shape = kept->sizes().vec(),
           .values = {kept->const_data_ptr<float>(), static_cast<size_t>(kept->numel())},
           .owner = kept});
    }
    return outputs;
  }
  std::vector<at::Tensor> compute(const std::vector<at::Tensor>& inputs) const {
    return run_(inputs);
  }

 private:
  static at::Tensor to_tensor(const OnnxInput& input) {
    return (input.integers.empty()
                ? at::tensor(at::ArrayRef(input.floats.data(), input.floats.size()))
                : at::tensor(at::ArrayRef(input.integers.data(), input.integers.size())))
        .reshape(input.shape);
  }

  const std::string name_ = "fake.onnx";
  const std::vector<std::string> inputs_, outputs_;
  const Run run_;
};

/// A graph with the names of Hibari's: as many frames as 6 for each id, whose values are drawn with
/// the ids as the seed. Its voice sounds at 200 Hz.
inline FakeGraph fake_hibari_graph() {
  return FakeGraph({"ids", "speed"}, {"lh", "theta", "ln", "lr", "phi", "f0"},
                   [](const std::vector<at::Tensor>& inputs) {
                     const at::Tensor& ids = inputs[0];
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
