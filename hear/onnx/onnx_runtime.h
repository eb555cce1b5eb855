#pragma once

#include <filesystem>
#include <memory>

#include "core/error.h"
#include "hear/onnx/onnx_api.h"

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
