#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "hear/onnx/onnx_runtime.h"

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
