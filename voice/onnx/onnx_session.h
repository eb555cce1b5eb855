#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "voice/onnx/onnx_graph.h"
#include "voice/onnx/onnx_handle.h"
#include "voice/onnx/onnx_runtime.h"

namespace predgen {

struct OnnxSessionOptions {
  /// With one, a pass runs on the calling thread. More are owned by the session and sleep
  /// between passes: by default they would spin for milliseconds and take cores from the
  /// language model.
  int64_t threads = 1;
  std::filesystem::path library{};  // of ONNX Runtime; empty: the one that the build found
};

/// An ONNX file in ONNX Runtime, on the CPU.
class OnnxSession : public OnnxGraph {
 public:
  /// UserError if the runtime is missing, or `file` is missing, truncated or not a network.
  explicit OnnxSession(const std::filesystem::path& file, const OnnxSessionOptions& options = {});

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& inputs() const override { return inputs_; }
  const std::vector<std::string>& outputs() const override { return outputs_; }
  std::vector<at::Tensor> run(const std::vector<OnnxInput>& inputs,
                              const std::vector<std::string>& outputs) const override;

 private:
  std::string name_;
  std::shared_ptr<const OnnxRuntime> runtime_;
  OnnxHandle<onnx::Session> session_;
  OnnxHandle<onnx::MemoryInfo> memory_;  // describes inputs as CPU memory
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace predgen
