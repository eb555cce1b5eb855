#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "core/error.h"

// The part of ONNX Runtime's C interface that we call (onnxruntime_c_api.h). It is a table of
// functions to which releases only append, so a function is identified by its index; the packages
// have the library without its header.

namespace predgen::onnx {

// Handles of the library.
struct Status;
struct Env;
struct SessionOptions;
struct Session;
struct RunOptions;
struct MemoryInfo;
struct Value;
struct TensorInfo;
struct Allocator;

/// The release whose table is requested; later ones have it, too. It has all functions below.
constexpr uint32_t kAskedVersion = 16;

// Values of the library's enumerations.
constexpr int kFatalOnly = 4;  // of logs
constexpr int kAllOptimisations = 99;
constexpr int kDeviceAllocator = 0;  // uncached memory
constexpr int kDefaultMemory = 0;
constexpr int kFloat = 1, kInt64 = 7, kBool = 9;

/// The library's entry point, returned by its only exported function.
struct ApiBase {
  const void* const* (*get_api)(uint32_t version);  // null: this release lacks the version
  const char* (*get_version)();
};
using GetApiBase = const ApiBase* (*)();

/// A function's index in the table, and its type.
template <typename Function>
struct Slot {
  size_t place;
};

// Functions that can fail return a status, null on success.
constexpr Slot<const char*(const Status*)> kGetErrorMessage{2};
constexpr Slot<Status*(int log_level, const char* log_name, Env**)> kCreateEnv{3};
constexpr Slot<Status*(const Env*, const char* file, const SessionOptions*, Session**)>
    kCreateSession{7};
constexpr Slot<Status*(Session*, const RunOptions*, const char* const* input_names,
                       const Value* const* inputs, size_t num_inputs,
                       const char* const* output_names, size_t num_outputs, Value** outputs)>
    kRun{9};
constexpr Slot<Status*(SessionOptions**)> kCreateSessionOptions{10};
constexpr Slot<Status*(SessionOptions*)> kDisableMemPattern{17};
constexpr Slot<Status*(SessionOptions*, int level)> kSetSessionLogSeverityLevel{22};
constexpr Slot<Status*(SessionOptions*, int level)> kSetGraphOptimizationLevel{23};
constexpr Slot<Status*(SessionOptions*, int threads)> kSetIntraOpNumThreads{24};
constexpr Slot<Status*(SessionOptions*, int threads)> kSetInterOpNumThreads{25};
constexpr Slot<Status*(const Session*, size_t*)> kSessionGetInputCount{30};
constexpr Slot<Status*(const Session*, size_t*)> kSessionGetOutputCount{31};
constexpr Slot<Status*(const Session*, size_t, Allocator*, char**)> kSessionGetInputName{36};
constexpr Slot<Status*(const Session*, size_t, Allocator*, char**)> kSessionGetOutputName{37};
constexpr Slot<Status*(RunOptions**)> kCreateRunOptions{39};
constexpr Slot<Status*(RunOptions*)> kRunOptionsSetTerminate{46};  // from any thread
constexpr Slot<Status*(const MemoryInfo*, void* data, size_t num_bytes, const int64_t* shape,
                       size_t num_dimensions, int element_type, Value**)>
    kCreateTensorWithData{49};
constexpr Slot<Status*(Value*, void** data)> kGetTensorMutableData{51};
constexpr Slot<Status*(const TensorInfo*, int* element_type)> kGetTensorElementType{60};
constexpr Slot<Status*(const TensorInfo*, size_t*)> kGetDimensionsCount{61};
constexpr Slot<Status*(const TensorInfo*, int64_t* shape, size_t num_dimensions)> kGetDimensions{
    62};
constexpr Slot<Status*(const Value*, TensorInfo**)> kGetTensorTypeAndShape{65};
constexpr Slot<Status*(int allocator, int memory, MemoryInfo**)> kCreateCpuMemoryInfo{69};
constexpr Slot<Status*(Allocator*, void*)> kAllocatorFree{76};
constexpr Slot<Status*(Allocator**)> kGetAllocatorWithDefaultOptions{78};
constexpr Slot<void(Env*)> kReleaseEnv{92};
constexpr Slot<void(Status*)> kReleaseStatus{93};
constexpr Slot<void(MemoryInfo*)> kReleaseMemoryInfo{94};
constexpr Slot<void(Session*)> kReleaseSession{95};
constexpr Slot<void(Value*)> kReleaseValue{96};
constexpr Slot<void(RunOptions*)> kReleaseRunOptions{97};
constexpr Slot<void(TensorInfo*)> kReleaseTensorInfo{99};
constexpr Slot<void(SessionOptions*)> kReleaseSessionOptions{100};
constexpr Slot<Status*(SessionOptions*, const char* key, const char* value)> kAddSessionConfigEntry{
    130};

}  // namespace predgen::onnx

namespace predgen {

/// ONNX Runtime in this process. The library is opened on first use and not linked: other commands
/// need not load its 27 MB, and a program without it, or whose library is gone, reports that in one
/// line instead of failing to start. All instances share one library and its environment.
class OnnxRuntime {
 public:
  /// UserError if this program was built without it, or it cannot be opened or is too old.
  /// `library`: empty: the one that the build found.
  static std::shared_ptr<const OnnxRuntime> open(const std::filesystem::path& library = {});
  /// Whether open() would succeed.
  static bool is_there() noexcept;

  ~OnnxRuntime();
  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;

  const onnx::Env* env() const { return env_; }

  /// Calls a function of the table; Error with the library's message if it fails.
  template <typename... Parameters, typename... Arguments>
  void call(onnx::Slot<onnx::Status*(Parameters...)> slot, Arguments... arguments) const {
    if (onnx::Status* const status = function(slot)(arguments...)) fail(status);
  }

  /// Frees a handle.
  template <typename Handle>
  void release(onnx::Slot<void(Handle*)> slot, Handle* handle) const {
    function(slot)(handle);
  }

 private:
  explicit OnnxRuntime(const void* const* table);

  template <typename Function>
  Function* function(onnx::Slot<Function> slot) const {
    return reinterpret_cast<Function*>(const_cast<void*>(table_[slot.place]));
  }
  [[noreturn]] void fail(onnx::Status* status) const;

  const void* const* table_;
  onnx::Env* env_ = nullptr;
};

}  // namespace predgen
