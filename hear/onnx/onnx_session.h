#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "hear/onnx/onnx_graph.h"
#include "hear/onnx/onnx_runtime.h"

namespace predgen {

struct OnnxSessionOptions {
  int64_t threads = 1;  // with one, a pass runs on the calling thread; the session owns more
  /// Whether more threads wait busily: passes are faster, but for milliseconds after each the
  /// threads take cores from the language model.
  bool spins = false;
  /// Whether the layout of a pass's memory is kept for every shape of inputs that ever comes.
  bool keeps_plans = false;
  std::filesystem::path library{};  // of ONNX Runtime; empty: the one that the build found
};

/// Owns an object of ONNX Runtime and releases it on destruction.
template <typename Object>
class OnnxHandle {
 public:
  OnnxHandle(std::shared_ptr<const OnnxRuntime> runtime, onnx::Slot<void(Object*)> release,
             Object* object = nullptr)
      : runtime_(std::move(runtime)), release_(release), object_(object) {}
  OnnxHandle(OnnxHandle&& other) noexcept
      : runtime_(other.runtime_),
        release_(other.release_),
        object_(std::exchange(other.object_, nullptr)) {}
  OnnxHandle& operator=(OnnxHandle&&) = delete;
  ~OnnxHandle() {
    if (object_ != nullptr) runtime_->release(release_, object_);
  }

  Object* get() const { return object_; }
  Object** out() { return &object_; }  // for the function that creates it

 private:
  std::shared_ptr<const OnnxRuntime> runtime_;
  onnx::Slot<void(Object*)> release_;
  Object* object_;
};

/// An ONNX file in ONNX Runtime, on the CPU.
class OnnxSession : public OnnxGraph {
 public:
  /// UserError if the runtime is missing, or `file` is missing, truncated or not a network.
  explicit OnnxSession(const std::filesystem::path& file, const OnnxSessionOptions& options = {});

  const std::string& name() const override { return name_; }
  const std::vector<std::string>& inputs() const override { return inputs_; }
  const std::vector<std::string>& outputs() const override { return outputs_; }
  std::vector<OnnxOutput> run(const std::vector<OnnxInput>& inputs,
                              const std::vector<std::string>& outputs,
                              const std::stop_token& stop) const override;

 private:
  std::string name_;
  std::shared_ptr<const OnnxRuntime> runtime_;
  OnnxHandle<onnx::Session> session_;
  OnnxHandle<onnx::MemoryInfo> memory_;  // describes inputs as CPU memory
  std::vector<std::string> inputs_, outputs_;
};

}  // namespace predgen
