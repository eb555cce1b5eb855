#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <initializer_list>

namespace predgen {

enum class StreamPriority { kLow, kHigh };

/// A stream of a CUDA device for work of this priority, to be made current by a c10::StreamGuard;
/// on a CPU the default stream, which changes nothing. Call once weights are loaded: waits for all
/// work queued on the device before.
c10::Stream make_stream(c10::Device device, StreamPriority priority);

/// The current stream of a CUDA device, as a cudaStream_t.
void* current_cuda_stream(c10::Device device);

/// Tells LibTorch that work of the current stream uses tensors of CUDA that another stream may have
/// allocated: when they are freed, nobody gets their memory before that work is done. Those on a
/// CPU are left out.
void use_on_current_stream(std::initializer_list<at::Tensor> tensors);

}  // namespace predgen
