#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "core/error.h"

namespace predgen {

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
