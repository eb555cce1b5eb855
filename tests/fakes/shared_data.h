#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace predgen {

/// A file or folder of the reference data (scripts/test.sh); the test that asks ends, skipped,
/// where it is not there.
#define PREDGEN_SHARED_OR_SKIP(variable, name)                     \
  const std::filesystem::path variable = shared_folder() / (name); \
  if (!std::filesystem::exists(variable)) GTEST_SKIP() << "no reference data: " << variable

inline std::filesystem::path shared_folder() {
  const char* shared = std::getenv("PREDGEN_SHARED");
  return shared ? shared : "../shared";
}

}  // namespace predgen
