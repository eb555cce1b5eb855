#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <string>

#include "core/error.h"

namespace predgen {

/// The most likely token of each row of logits [N,V], the first of equals: int64 [N] on their
/// device. On a CPU it avoids LibTorch's argmax, which wakes threads that then look for more work
/// during the next pass.
at::Tensor most_likely(const at::Tensor& logits_NV);

/// What `read` returns: values of a pass, copied to the host. Only there does a GPU tell that a
/// kernel of the pass failed: an Error that says so.
template <class Read>
auto read_pass(const Read& read) {
  try {
    return read();
  } catch (const c10::AcceleratorError& error) {
    const std::string all = error.what_without_backtrace();
    throw Error("a pass failed on the GPU, which cannot go on: {}", all.substr(0, all.find('\n')));
  }
}

}  // namespace predgen
