// Every seed and everything that fuzzing ever found, in the default build.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/files.h"
#include "tests/fuzz/targets.h"

namespace predgen {
namespace {

namespace fs = std::filesystem;

class FuzzSeeds : public testing::TestWithParam<FuzzTarget> {};

/// Seeds are named after what is in them; those that begin with "bad_" must be refused, all others
/// taken.
TEST_P(FuzzSeeds, AreTakenOrRefused) {
  int num_taken = 0, num_refused = 0;
  for (const auto& entry : fs::directory_iterator(fs::path("tests/fuzz/seeds") / GetParam().name)) {
    SCOPED_TRACE(entry.path().string());
    const bool is_bad = entry.path().filename().string().starts_with("bad_");
    try {
      EXPECT_EQ(takes(GetParam(), read_file(entry.path())), !is_bad);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "neither taken nor a UserError: " << error.what();
    }
    ++(is_bad ? num_refused : num_taken);
  }
  EXPECT_GE(num_taken, 1);
  EXPECT_GE(num_refused, 1);
}

INSTANTIATE_TEST_SUITE_P(All, FuzzSeeds,
                         testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace predgen
