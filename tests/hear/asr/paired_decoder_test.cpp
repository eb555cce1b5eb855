#include "hear/asr/paired_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace predgen::ears {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// Says what it is told to, and keeps a log of what it is asked.
struct Asked : DraftedDecoder {
  Asked(std::string its_name, std::vector<std::string>& its_log)
      : name(std::move(its_name)), log(its_log) {}
  DecoderPace pace() const override { return {.period = name == "fast" ? 100 : 400, .longest = 7}; }
  std::optional<Decoded> decode(const DecodeJob&, const std::stop_token& stop) override {
    log.push_back(name);
    if (stop.stop_requested()) return std::nullopt;
    return says;
  }
  void forget(uint32_t stream) override {
    log.push_back(name + " forgets " + std::to_string(stream));
  }
  void draft(const DecodeJob&, const std::string& text) override { log.push_back("draft " + text); }

  const std::string name;
  std::vector<std::string>& log;
  Decoded says{};
};

struct Pair {
  std::vector<std::string> log;
  std::unique_ptr<Asked> owned_fast = std::make_unique<Asked>("fast", log),
                         owned_careful = std::make_unique<Asked>("careful", log);
  Asked &fast = *owned_fast, &careful = *owned_careful;
  PairedDecoder both{std::move(owned_fast), std::move(owned_careful)};

  std::optional<Decoded> decode(const DecodeJob& job) { return both.decode(job, {}); }
};

/// So long that a check is due, or not.
DecodeJob partial(int64_t num_samples = kRate) {
  return {.need = Need::kPartial, .sound = std::vector<float>(static_cast<size_t>(num_samples))};
}
DecodeJob at_pause(bool is_careful = false) {
  return {.need = Need::kPause, .sound = std::vector<float>(kRate), .is_careful = is_careful};
}

TEST(PairedDecoder, PartialsAreTheFastOnesHoweverSureItIs) {
  Pair pair;
  pair.fast.says = {.text = "a b c", .certainties = {0.1, 0.1, 0.1}};
  const auto heard = pair.decode(partial());
  EXPECT_EQ(heard->text, "a b c");
  EXPECT_FALSE(heard->is_sure) << "it is the last text of sound that ends here";
  EXPECT_THAT(pair.log, ElementsAre("fast", "draft a b c"));
  EXPECT_EQ(pair.both.pace().period, 100);
  EXPECT_EQ(pair.both.pace().longest, 7);
}

TEST(PairedDecoder, APauseIsTheFastOnesIfItIsSureOfEachWord) {
  Pair pair;
  for (const double certainty : {0.65, 0.55}) {
    pair.fast.says = {.text = "a b c", .certainties = {0.9, 0.9, certainty}};
    EXPECT_EQ(pair.decode(at_pause())->is_sure, certainty > 0.6);
  }
  pair.fast.says = {.text = "a b c"};
  EXPECT_FALSE(pair.decode(at_pause())->is_sure) << "it does not say how sure";
  pair.log.clear();
  pair.careful.says = {.text = "A b d."};
  const auto careful = pair.decode(at_pause(/*is_careful=*/true));
  EXPECT_EQ(careful->text, "a b d.");
  EXPECT_TRUE(careful->is_sure);
  EXPECT_THAT(pair.log, ElementsAre("careful"));
}

TEST(PairedDecoder, WordsThatTheCarefulOneHasConfirmedNeedNotBeSure) {
  Pair pair;
  pair.careful.says = {.text = "Hello, light-roast coff ee"};
  EXPECT_EQ(pair.decode(partial(PairedDecoder::kFirstCheck))->text, pair.careful.says.text);
  pair.fast.says = {.text = "hello light roast coffee please",
                    .certainties = {0, 0, 0, 0.35, 0.35}};
  EXPECT_TRUE(pair.decode(at_pause())->is_sure);
  pair.fast.says.certainties[3] = 0.3;
  EXPECT_FALSE(pair.decode(at_pause())->is_sure);
  EXPECT_THAT(pair.log, ElementsAre("careful", "fast", "draft hello light roast coffee please",
                                    "fast", "draft hello light roast coffee please"));
}

TEST(PairedDecoder, WhereTheTwoDifferTheCarefulOnesWordsReplaceTheOthers) {
  Pair pair;
  pair.careful.says = {.text = "Hello, light-roast coff ee"};
  pair.decode(partial(PairedDecoder::kFirstCheck));
  pair.fast.says = {.text = "hallo light rose coffee please", .certainties = {1, 1, 1, 1, 1}};
  const auto heard = pair.decode(partial(PairedDecoder::kFirstCheck + kRate / 5));
  EXPECT_EQ(heard->text, "Hello, light-roast coffee please");
  EXPECT_THAT(heard->certainties, SizeIs(2)) << "of the words behind these";
  pair.log.clear();
  EXPECT_EQ(pair.decode(at_pause())->text, pair.careful.says.text) << "doubts were known";
  EXPECT_THAT(pair.log, ElementsAre("careful"));
}

TEST(PairedDecoder, WordsThatWereShownKeepTheirSpellingUntilOthersAreHeard) {
  Pair pair;
  pair.fast.says = {.text = "How many go to Chili's around", .certainties = {1, 1, 1, 1, 1, 1}};
  EXPECT_EQ(pair.decode(partial())->text, "How many go to Chili's around");
  pair.careful.says = {.text = "how many go to chili's - around 9 p m"};
  EXPECT_EQ(pair.decode(partial(PairedDecoder::kFirstCheck))->text,
            "How many go to Chili's around 9 p m")
      << "capitals and dashes, which nobody hears, take nothing back";
  pair.fast.says.text = "How many, go too Chili's around 9 p";
  EXPECT_EQ(pair.decode(partial())->text, "How many go to Chili's around 9 p");
  pair.careful.says = {.text = "how many go to Chillies, around 9pm?"};
  EXPECT_EQ(pair.decode(at_pause(/*is_careful=*/true))->text,
            "How many go to Chillies, around 9pm?")
      << "but for the last word that is the same, where others are heard";
  pair.careful.says = {.text = "how many go to chillies - around 9pm."};
  EXPECT_EQ(pair.decode(at_pause(/*is_careful=*/true))->text,
            "How many go to Chillies, around 9pm.");
}

TEST(PairedDecoder, TheCarefulOneHearsNowAndThen) {
  Pair pair;
  for (int fifths = 1; fifths <= 20; ++fifths) pair.decode(partial(fifths * kRate / 5));
  std::string order;
  for (const std::string& one : pair.log)
    order += one == "careful" ? "c" : one == "fast" ? "f" : "";
  EXPECT_EQ(order, "fffffcfffcfffcfffcff");
}

TEST(PairedDecoder, WhereEarlyWordsWereNotSureThePauseIsTheCarefulOnesAtOnce) {
  Pair pair;
  pair.fast.says = {.text = "a b c d", .certainties = {0.1, 1, 1, 1}};
  pair.careful.says = {.text = "x"};
  pair.decode(partial());
  EXPECT_EQ(pair.decode(at_pause())->text, "x");
  DecodeJob other = at_pause();
  other.segment = 1;
  EXPECT_EQ(pair.decode(other)->text, "a b c d") << "another segment";
  other.stream = 1;
  EXPECT_EQ(pair.decode(other)->text, "a b c d") << "another stream";
  pair.fast.says.certainties = {1, 1, 0.1, 0.1};
  pair.decode(partial());
  EXPECT_EQ(pair.decode(at_pause())->text, "a b c d") << "more sound may change the last words";
}

TEST(PairedDecoder, AStoppedDecodeDraftsAndChecksNothing) {
  Pair pair;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(pair.both.decode(at_pause(), stop.get_token()));
  EXPECT_FALSE(pair.both.decode(partial(PairedDecoder::kFirstCheck), stop.get_token()));
  EXPECT_THAT(pair.log, ElementsAre("fast", "careful"));
  pair.log.clear();
  pair.decode(partial(PairedDecoder::kFirstCheck));
  EXPECT_THAT(pair.log, ElementsAre("careful")) << "it is still due";
  pair.log.clear();
  pair.both.forget(5);
  EXPECT_THAT(pair.log, ElementsAre("fast forgets 5", "careful forgets 5"));
}

}  // namespace
}  // namespace predgen::ears
