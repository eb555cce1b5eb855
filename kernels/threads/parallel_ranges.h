#pragma once

#include <cstdint>
#include <functional>

namespace predgen {

/// Calls work(begin, end) for parts of [0,count) of about `grain` >= 1 or more, on as many threads
/// as LibTorch was told to use, and returns when all have ended; `work` must not throw. What
/// at::parallel_for is for, which runs on one thread in programs that are not compiled for OpenMP.
/// Callable from any thread, also within `work`: whoever does not get the program's team of threads
/// runs all of it by itself.
void parallel_ranges(int64_t count, int64_t grain,
                     const std::function<void(int64_t, int64_t)>& work);

}  // namespace predgen
