#include "hear/onnx/onnx_session.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/stop.h"
#include "core/text.h"

namespace predgen {

void check_graph(const OnnxGraph& graph, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& kind) {
  const auto check = [&](const auto& wanted, const auto& names, const char* what) {
    for (const std::string& name : wanted) {
      if (std::ranges::find(names, name) != names.end()) continue;
      throw UserError("{}: is no network of {}: it has no {} '{}'", graph.name(), kind, what, name);
    }
  };
  check(inputs, graph.inputs(), "input");
  check(outputs, graph.outputs(), "output");
}

namespace {

using RuntimePointer = std::shared_ptr<const OnnxRuntime>;

void set(const OnnxRuntime& runtime, const OnnxSessionOptions& wanted,
         onnx::SessionOptions* options) {
  const int threads = static_cast<int>(wanted.threads);
  runtime.call(onnx::kSetIntraOpNumThreads, options, threads);
  runtime.call(onnx::kSetInterOpNumThreads, options, 1);
  const char* const spins = wanted.spins ? "1" : "0";
  runtime.call(onnx::kAddSessionConfigEntry, options, "session.intra_op.allow_spinning", spins);
  runtime.call(onnx::kAddSessionConfigEntry, options, "session.inter_op.allow_spinning", spins);
  runtime.call(onnx::kSetGraphOptimizationLevel, options, onnx::kAllOptimisations);
  runtime.call(onnx::kSetSessionLogSeverityLevel, options, onnx::kFatalOnly);
  if (!wanted.keeps_plans) runtime.call(onnx::kDisableMemPattern, options);
}

using GetCount = onnx::Slot<onnx::Status*(const onnx::Session*, size_t*)>;
using GetName = onnx::Slot<onnx::Status*(const onnx::Session*, size_t, onnx::Allocator*, char**)>;

std::vector<std::string> names(const OnnxRuntime& runtime, const onnx::Session* session,
                               GetCount get_count, GetName get_name) {
  onnx::Allocator* allocator = nullptr;  // the library's own
  runtime.call(onnx::kGetAllocatorWithDefaultOptions, &allocator);
  size_t count = 0;
  runtime.call(get_count, session, &count);
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    runtime.call(get_name, session, i, allocator, &name);
    all.emplace_back(name);
    runtime.call(onnx::kAllocatorFree, allocator, static_cast<void*>(name));
  }
  return all;
}

int64_t num_elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// Borrows the input's memory.
OnnxHandle<onnx::Value> to_value(const RuntimePointer& runtime, const onnx::MemoryInfo* memory,
                                 const OnnxInput& input) {
  OnnxHandle<onnx::Value> value(runtime, onnx::kReleaseValue);
  const auto make = [&](auto values, auto type) {
    PREDGEN_CHECK(std::ssize(values) == num_elements(input.shape),
                  "'{}' has {} values instead of {}", input.name, values.size(),
                  num_elements(input.shape));
    void* const data = const_cast<void*>(static_cast<const void*>(values.data()));
    runtime->call(onnx::kCreateTensorWithData, memory, data, values.size_bytes(),
                  input.shape.data(), input.shape.size(), type, value.out());
  };
  if (!input.integers.empty()) {
    make(input.integers, onnx::kInt64);
  } else if (!input.flags.empty()) {
    make(input.flags, onnx::kBool);
  } else {
    make(input.floats, onnx::kFloat);
  }
  return value;
}

OnnxOutput to_output(const RuntimePointer& runtime, OnnxHandle<onnx::Value> value) {
  OnnxHandle<onnx::TensorInfo> info(runtime, onnx::kReleaseTensorInfo);
  runtime->call(onnx::kGetTensorTypeAndShape, value.get(), info.out());
  int type = 0;
  runtime->call(onnx::kGetTensorElementType, info.get(), &type);
  if (type != onnx::kFloat) throw Error("a network gave numbers that are not float32");
  size_t num_dimensions = 0;
  runtime->call(onnx::kGetDimensionsCount, info.get(), &num_dimensions);
  std::vector<int64_t> shape(num_dimensions);
  runtime->call(onnx::kGetDimensions, info.get(), shape.data(), num_dimensions);
  void* data = nullptr;
  runtime->call(onnx::kGetTensorMutableData, value.get(), &data);
  const auto count = static_cast<size_t>(num_elements(shape));
  return {.shape = std::move(shape),
          .values = {static_cast<const float*>(data), count},
          .owner = std::make_shared<const OnnxHandle<onnx::Value>>(std::move(value))};
}

}  // namespace

OnnxSession::OnnxSession(const std::filesystem::path& file, const OnnxSessionOptions& options)
    : name_(file.string()),
      runtime_(OnnxRuntime::open(options.library)),
      session_(runtime_, onnx::kReleaseSession),
      memory_(runtime_, onnx::kReleaseMemoryInfo) {
  check_at_least(1, options.threads, "the number of a network's threads");
  std::error_code absent;
  if (!std::filesystem::is_regular_file(file, absent)) {
    throw UserError("{}: no such file", name_);
  }
  OnnxHandle<onnx::SessionOptions> set_up(runtime_, onnx::kReleaseSessionOptions);
  runtime_->call(onnx::kCreateSessionOptions, set_up.out());
  set(*runtime_, options, set_up.get());
  try {
    runtime_->call(onnx::kCreateSession, runtime_->env(), file.c_str(), set_up.get(),
                   session_.out());
  } catch (const Error& error) {
    throw UserError("{}: is not a whole ONNX file that runs here ({}): fetch it again", name_,
                    shortened(error.what(), 200));
  }
  runtime_->call(onnx::kCreateCpuMemoryInfo, onnx::kDeviceAllocator, onnx::kDefaultMemory,
                 memory_.out());
  inputs_ =
      names(*runtime_, session_.get(), onnx::kSessionGetInputCount, onnx::kSessionGetInputName);
  outputs_ =
      names(*runtime_, session_.get(), onnx::kSessionGetOutputCount, onnx::kSessionGetOutputName);
}

std::vector<OnnxOutput> OnnxSession::run(const std::vector<OnnxInput>& inputs,
                                         const std::vector<std::string>& outputs,
                                         const std::stop_token& stop) const {
  std::vector<OnnxHandle<onnx::Value>> values;
  std::vector<const onnx::Value*> given;
  std::vector<const char*> input_names, output_names;
  for (const OnnxInput& input : inputs) {
    values.push_back(to_value(runtime_, memory_.get(), input));
    given.push_back(values.back().get());
    input_names.push_back(input.name.c_str());
  }
  for (const std::string& name : outputs) output_names.push_back(name.c_str());
  OnnxHandle<onnx::RunOptions> options(runtime_, onnx::kReleaseRunOptions);
  runtime_->call(onnx::kCreateRunOptions, options.out());
  std::vector<onnx::Value*> made(outputs.size(), nullptr);
  try {
    const std::stop_callback terminate(
        stop, [&] { runtime_->call(onnx::kRunOptionsSetTerminate, options.get()); });
    runtime_->call(onnx::kRun, session_.get(), options.get(), input_names.data(), given.data(),
                   given.size(), output_names.data(), output_names.size(), made.data());
  } catch (const Error&) {
    throw_if_stopped(stop);
    throw;
  }
  std::vector<OnnxHandle<onnx::Value>> results;
  for (onnx::Value* const value : made) results.emplace_back(runtime_, onnx::kReleaseValue, value);
  std::vector<OnnxOutput> all;
  for (auto& result : results) all.push_back(to_output(runtime_, std::move(result)));
  return all;
}

}  // namespace predgen
