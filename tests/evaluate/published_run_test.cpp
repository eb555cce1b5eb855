#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/json.h"
#include "evaluate/statistics.h"
#include "tests/fakes/shared_data.h"

namespace predgen::evaluate {
namespace {

// What the paper's authors published of their top-3 run (docs/measurements.md), by our statistics.
TEST(PublishedRun, HasTheMeansThatItsDescriptionSays) {
  PREDGEN_SHARED_OR_SKIP(file, "data/published_runs/predgen_lmsys_topk3.json");
  const Json published = read_json(file);
  std::vector<std::optional<double>> ttfs, passes;
  for (const Json& turn : published.at("all_responses")) {
    const auto value = [&](const char* key) -> std::optional<double> {
      const Json& found = turn.at(key);
      return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
    };
    ttfs.push_back(value("ttfs"));
    passes.push_back(value("nfe_to_first_sentence"));
  }
  const Summary seconds = summarize(ttfs), nfe = summarize(passes);
  EXPECT_EQ(seconds.n, 99);
  EXPECT_NEAR(*seconds.mean, 0.322, 5e-4);
  EXPECT_NEAR(*seconds.p50, 0.218, 5e-4);
  EXPECT_EQ(nfe.n, 95);
  EXPECT_NEAR(*nfe.mean, 12.8, 0.05);
  EXPECT_EQ(nfe.p50, 9);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(passes, 1.0)) / 95, 0.24, 0.005);
}

}  // namespace
}  // namespace predgen::evaluate
