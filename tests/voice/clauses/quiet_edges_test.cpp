#include "voice/clauses/quiet_edges.h"

#include <gmock/gmock.h>

namespace predgen {
namespace {

constexpr int kPerSecond = 1000;  // samples are milliseconds
constexpr size_t kLead = 30;

/// Quiet, loud for a while, quiet: with a moment of silence in the loud part.
std::vector<float> piece(size_t before, size_t loud, size_t behind) {
  std::vector<float> sound(before, 0.0005F);
  sound.insert(sound.end(), loud, 0.5F);
  sound[before + loud / 2] = 0;
  sound.insert(sound.end(), behind, -0.0005F);
  return sound;
}

std::vector<float> spoken(const std::vector<float>& sound, size_t step, double pause) {
  QuietEdges edges(kPerSecond);
  std::vector<float> samples;
  for (size_t at = 0; at < sound.size(); at += step) {
    edges.push(std::span(sound).subspan(at, std::min(step, sound.size() - at)), samples);
  }
  edges.end(Seconds(pause), samples);
  return samples;
}

TEST(QuietEdges, KeepsAMomentAtTheFrontAndThePauseAtTheEnd) {
  const auto samples = spoken(piece(300, 100, 500), 1000, 0.2);
  ASSERT_EQ(samples.size(), kLead + 100 + 200);
  EXPECT_EQ(samples[0], 0.0005F);
  EXPECT_EQ(samples[kLead], 0.5F);
  EXPECT_EQ(samples[kLead + 50], 0) << "silence within the sound stays";
  EXPECT_EQ(samples[kLead + 99], 0.5F);
  EXPECT_EQ(samples.back(), -0.0005F);
}

TEST(QuietEdges, TheSizeOfPiecesDoesNotMatter) {
  const auto sound = piece(300, 100, 500);
  for (const size_t step : {1U, 7U, 299U, 301U}) {
    EXPECT_EQ(spoken(sound, step, 0.2), spoken(sound, 1000, 0.2)) << step;
  }
}

TEST(QuietEdges, APauseThatIsLongerThanTheSilenceIsFilled) {
  const auto samples = spoken(piece(10, 100, 50), 1000, 0.2);
  ASSERT_EQ(samples.size(), 10U + 100 + 200);
  EXPECT_EQ(samples[10 + 100 + 49], -0.0005F);
  EXPECT_EQ(samples.back(), 0);
}

TEST(QuietEdges, SilenceAloneIsLeftOutAndTheNextPieceIsAsTheFirst) {
  QuietEdges edges(kPerSecond);
  std::vector<float> samples;
  edges.push(std::vector<float>(400, 0), samples);
  edges.end(Seconds(0.2), samples);
  EXPECT_TRUE(samples.empty());
  edges.push(piece(300, 10, 0), samples);
  EXPECT_EQ(samples.size(), kLead + 10);
}

TEST(PauseBehind, IsLongestBehindASentence) {
  EXPECT_LT(pause_behind(""), pause_behind(","));
  EXPECT_EQ(pause_behind(","), pause_behind("\u2014"));
  EXPECT_LT(pause_behind(","), pause_behind(":"));
  EXPECT_LT(pause_behind(";"), pause_behind("."));
  EXPECT_EQ(pause_behind("?"), pause_behind("\u2026"));
}

}  // namespace
}  // namespace predgen
