#pragma once

#include <ATen/ATen.h>

#include <functional>

namespace predgen {

using PassWork = std::function<at::Tensor()>;
/// Captures work as a graph; the returned function replays it at each call. c10::OutOfMemoryError
/// if there is no memory for it.
using GraphCapture = std::function<PassWork(const PassWork& work)>;

}  // namespace predgen
