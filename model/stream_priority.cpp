#include "model/stream_priority.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace predgen {

c10::Stream make_stream(c10::Device device, StreamPriority priority) {
  if (!device.is_cuda()) return c10::Stream(c10::Stream::DEFAULT, device);
  const c10::impl::VirtualGuardImpl cuda(device.type());
  cuda.synchronizeStream(cuda.getStream(device));
  return cuda.getStreamFromGlobalPool(device, priority == StreamPriority::kHigh);
}

void* current_cuda_stream(c10::Device device) {
  const c10::impl::VirtualGuardImpl cuda(device.type());
  return cuda.getStream(device).native_handle();
}

void use_on_current_stream(std::initializer_list<at::Tensor> tensors) {
  for (at::Tensor tensor : tensors) {
    if (!tensor.is_cuda()) continue;
    const c10::impl::VirtualGuardImpl cuda(tensor.device().type());
    tensor.record_stream(cuda.getStream(tensor.device()));
  }
}

}  // namespace predgen
