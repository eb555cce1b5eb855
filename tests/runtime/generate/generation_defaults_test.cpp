#include "runtime/generate/generation_defaults.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

GenerationDefaults read_defaults(const std::filesystem::path& folder) {
  return read_generation_defaults(open_checkpoint(folder)->read_generation());
}

TEST(GenerationDefaults, GenerationConfigComesBeforeConfig) {
  const TemporaryFolder folder;
  write_file(folder / "config.json", R"({"eos_token_id": 7})");
  EXPECT_EQ(read_defaults(folder.path()).stop_tokens, (TokenIds{7}));
  write_file(folder / "generation_config.json", R"({"eos_token_id": null, "top_k": 20})");
  EXPECT_EQ(read_defaults(folder.path()).stop_tokens, (TokenIds{7}));
  write_file(folder / "generation_config.json",
             R"({"eos_token_id": [5, 6], "temperature": 0.7, "top_p": 0.8})");
  const GenerationDefaults defaults = read_defaults(folder.path());
  EXPECT_EQ(defaults.stop_tokens, (TokenIds{5, 6}));
  EXPECT_EQ(defaults.temperature, 0.7);
  EXPECT_EQ(defaults.top_p, 0.8);
  EXPECT_EQ(defaults.top_k, std::nullopt);
  EXPECT_EQ(defaults.not_honoured, "");
  write_file(folder / "generation_config.json",
             R"({"repetition_penalty": 1.05, "min_p": 0, "typical_p": 0.9})");
  EXPECT_EQ(read_defaults(folder.path()).repetition_penalty, 1.05);
  EXPECT_EQ(read_defaults(folder.path()).not_honoured, "typical_p");
  write_file(folder / "generation_config.json", R"({"eos_token_id": "end"})");
  expect_user_error([&] { read_defaults(folder.path()); },
                    {"generation_config.json", "eos_token_id"});
}

TEST(GenerationDefaults, APenaltyThatIsAskedForCountsWithoutSampling) {
  GenerationDefaults defaults;
  defaults.repetition_penalty = 1.05;
  defaults.temperature = 0.7;
  AskedSampling asked;
  EXPECT_FALSE(choose_sampling(asked, defaults)) << "greedy is the model's own choice";
  asked.repetition_penalty = 1;
  EXPECT_FALSE(choose_sampling(asked, defaults));
  asked.repetition_penalty = 1.2;
  for (const std::optional<double> temperature : {std::optional<double>(), std::optional(0.0)}) {
    asked.temperature = temperature;
    const auto greedy = choose_sampling(asked, defaults);
    ASSERT_TRUE(greedy);
    EXPECT_EQ(greedy->temperature, 0);
    EXPECT_EQ(greedy->repetition_penalty, 1.2);
  }
  asked.repetition_penalty = 0;
  expect_user_error([&] { choose_sampling(asked, defaults); }, {"repetition penalty"});
  AskedSampling likeliest;
  likeliest.temperature = 1;
  likeliest.top_p = 0;
  EXPECT_FALSE(choose_sampling(likeliest, defaults)) << "nothing else is left";
  AskedSampling sampling;
  sampling.top_p = 0.9;
  const auto sampled = choose_sampling(sampling, defaults);
  EXPECT_EQ(sampled->temperature, 0.7);
  EXPECT_EQ(sampled->repetition_penalty, 1.05);
}

}  // namespace
}  // namespace predgen
