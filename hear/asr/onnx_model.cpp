#include "hear/asr/onnx_model.h"

#include <cstddef>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace predgen::ears {
namespace {

constexpr int kErrorsOnly = 3;  // of logs
constexpr int kArena = 1;       // memory that is kept

extern "C" const onnx::ApiBase* OrtGetApiBase();  // of the library, which is linked

template <typename Function>
Function* function(onnx::Slot<Function> slot) {
  static const void* const* const table = OrtGetApiBase()->get_api(onnx::kAskedVersion);
  return reinterpret_cast<Function*>(const_cast<void*>(table[slot.place]));
}

std::string take_message(onnx::Status* status) {
  std::string message = first_line(function(onnx::kGetErrorMessage)(status));
  function(onnx::kReleaseStatus)(status);
  return message;
}

/// What the library gives us to release.
template <typename Object>
struct Held {
  explicit Held(onnx::Slot<void(Object*)> with, Object* what = nullptr)
      : release(with), object(what) {}
  Held(Held&& other) noexcept
      : release(other.release), object(std::exchange(other.object, nullptr)) {}
  ~Held() {
    if (object != nullptr) function(release)(object);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  onnx::Slot<void(Object*)> release;
  Object* object;
};

}  // namespace

OnnxModel::OnnxModel(const std::filesystem::path& file, int num_threads) : file_(file.string()) {
  Held<onnx::SessionOptions> options(onnx::kReleaseSessionOptions);
  onnx::Status* status = function(onnx::kCreateEnv)(kErrorsOnly, "predgen", &environment_);
  const auto then = [&](auto slot, auto... arguments) {
    if (status == nullptr) status = function(slot)(arguments...);
  };
  then(onnx::kCreateSessionOptions, &options.object);
  then(onnx::kSetIntraOpNumThreads, options.object, num_threads);
  then(onnx::kSetInterOpNumThreads, options.object, 1);
  then(onnx::kCreateSession, environment_, file_.c_str(), options.object, &session_);
  if (status != nullptr) throw UserError("{} cannot be loaded: {}", file_, take_message(status));
}

OnnxModel::~OnnxModel() {
  function(onnx::kReleaseSession)(session_);
  function(onnx::kReleaseEnv)(environment_);
}

std::vector<std::vector<float>> OnnxModel::run(const std::vector<OnnxInput>& inputs,
                                               const std::vector<const char*>& outputs,
                                               const std::stop_token& stop) {
  const auto call = [&](auto slot, auto... arguments) {
    if (onnx::Status* const status = function(slot)(arguments...)) {
      throw Error("{} does not run: {}", file_, take_message(status));
    }
  };
  Held<onnx::MemoryInfo> memory(onnx::kReleaseMemoryInfo);
  call(onnx::kCreateCpuMemoryInfo, kArena, onnx::kDefaultMemory, &memory.object);
  std::vector<Held<onnx::Value>> held;
  std::vector<const char*> names;
  std::vector<const onnx::Value*> tensors;
  for (const OnnxInput& input : inputs) {
    const bool is_integer = !input.integers.empty();
    const void* data = is_integer ? static_cast<const void*>(input.integers.data())
                                  : static_cast<const void*>(input.floats.data());
    const size_t bytes = is_integer ? input.integers.size_bytes() : input.floats.size_bytes();
    Held<onnx::Value>& tensor = held.emplace_back(onnx::kReleaseValue);
    call(onnx::kCreateTensorWithData, memory.object, const_cast<void*>(data), bytes,
         input.shape.data(), input.shape.size(), is_integer ? onnx::kInt64 : onnx::kFloat,
         &tensor.object);
    names.push_back(input.name);
    tensors.push_back(tensor.object);
  }
  Held<onnx::RunOptions> options(onnx::kReleaseRunOptions);
  call(onnx::kCreateRunOptions, &options.object);
  std::vector<onnx::Value*> results(outputs.size(), nullptr);
  {
    const std::stop_callback terminate(
        stop, [&] { call(onnx::kRunOptionsSetTerminate, options.object); });
    onnx::Status* const status =
        function(onnx::kRun)(session_, options.object, names.data(), tensors.data(), tensors.size(),
                             outputs.data(), outputs.size(), results.data());
    if (status != nullptr) {
      const std::string message = take_message(status);
      if (stop.stop_requested()) throw Stopped();
      throw Error("{} does not run: {}", file_, message);
    }
  }
  std::vector<std::vector<float>> values;
  for (onnx::Value* const result : results) {
    const Held<onnx::Value> tensor(onnx::kReleaseValue, result);
    Held<onnx::TensorInfo> shape(onnx::kReleaseTensorInfo);
    call(onnx::kGetTensorTypeAndShape, result, &shape.object);
    size_t count = 0;
    call(onnx::kGetTensorElementCount, shape.object, &count);
    void* data = nullptr;
    call(onnx::kGetTensorMutableData, result, &data);
    const auto* const floats = static_cast<const float*>(data);
    values.emplace_back(floats, floats + count);
  }
  return values;
}

}  // namespace predgen::ears
