#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "core/log.h"
#include "tests/fakes/campaign_seeds.h"
#include "tests/fakes/watched_talk.h"

namespace predgen {
namespace {

constexpr double kSeconds = 5;  // in which a user begins to speak

class RandomTalks : public testing::Test {
 protected:
  RandomTalks() { spdlog::set_level(spdlog::level::off); }
  ~RandomTalks() override { spdlog::set_level(level_); }

 private:
  const c10::InferenceMode inference_;
  const spdlog::level::level_enum level_ = spdlog::get_level();
};

TEST_F(RandomTalks, KeepTheirPromises) {
  int64_t num_turns = 0, num_resumed = 0, num_cut = 0, num_failed = 0, num_guessed = 0;
  const auto [begin, end] = campaign_seeds("PREDGEN_TALK", 10'000);
  for (uint64_t seed = begin; seed < end; ++seed) {
    WatchedTalk talk(seed, kSeconds, Fault::kNone);
    const std::set<std::string> faults = talk.run();
    ASSERT_TRUE(faults.empty()) << "again with PREDGEN_TALK=" << seed << ": "
                                << fmt::format("{}", fmt::join(faults, "; "));
    num_turns += talk.num_turns;
    num_resumed += talk.num_resumed;
    num_cut += talk.num_cut;
    num_failed += talk.num_failed;
    num_guessed += talk.num_guessed;
  }
  if (end - begin < 1000) return;
  EXPECT_GT(num_cut, num_turns / 20) << "answers are to be cut in the middle";
  EXPECT_GT(num_resumed, num_turns / 100) << "and to go on after false alarms";
  EXPECT_GT(num_failed, num_turns / 200) << "voices and loudspeakers are to die";
  EXPECT_GT(num_guessed, num_turns / 100) << "n-grams are to make passes wide";
}

TEST_F(RandomTalks, EveryCheckFindsTheFaultThatItIsFor) {
  const std::array<std::pair<Fault, const char*>, 7> planted{
      {{Fault::kLosesTurns, "a turn is lost"},
       {Fault::kLeaks, "something is said before the turn is over"},
       {Fault::kRepeats, "a sample is heard twice"},
       {Fault::kMiscounts, "was heard"},
       {Fault::kNeverLooks, "the answer stays soft"},
       {Fault::kOtherText, "the text is not plain decoding's"},
       {Fault::kGrows, "the history grows"}}};
  for (const auto& [fault, what] : planted) {
    bool is_found = false;
    for (uint64_t seed = 0; seed < 200 && !is_found; ++seed) {
      WatchedTalk talk(seed, fault == Fault::kGrows ? 600 : kSeconds, fault);
      for (const std::string& found : talk.run()) {
        is_found = is_found || found.find(what) != std::string::npos;
      }
    }
    EXPECT_TRUE(is_found) << what;
  }
}

TEST_F(RandomTalks, AnHourOfOneTakesNoMoreMemoryThanItsFirstMinutes) {
  WatchedTalk talk(1, 3600, Fault::kNone);
  const std::set<std::string> faults = talk.run();
  EXPECT_TRUE(faults.empty()) << fmt::format("{}", fmt::join(faults, "; "));
  EXPECT_GT(talk.num_turns, 500);
}

}  // namespace
}  // namespace predgen
