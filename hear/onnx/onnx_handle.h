#pragma once

#include <memory>
#include <utility>

#include "hear/onnx/onnx_runtime.h"

namespace predgen {

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

}  // namespace predgen
