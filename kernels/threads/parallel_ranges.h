#pragma once

#include <cstdint>
#include <functional>

namespace predgen {

/// Calls work(begin, end) for parts of [0,count) of about `grain` >= 1 or more, on as many threads
/// as LibTorch is set to use, and returns when all have ended. Rethrows the first exception of
/// `work`; parts that have not begun by then are left out. Replaces at::parallel_for, which runs on
/// one thread in programs not compiled for OpenMP. Callable from any thread, also within `work`: a
/// caller that does not get the program's team of threads runs everything itself.
void parallel_ranges(int64_t count, int64_t grain,
                     const std::function<void(int64_t, int64_t)>& work);

}  // namespace predgen
