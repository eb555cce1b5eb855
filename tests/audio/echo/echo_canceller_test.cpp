#include "audio/echo/echo_canceller.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "tests/fakes/echoing_room.h"

namespace predgen {
namespace {

constexpr size_t kFrame = EchoCanceller::kFrame;

/// Everything that comes out, of as many samples as were heard; its first frame is none of them.
std::vector<float> process(EchoCanceller& canceller, const std::vector<float>& heard,
                           const std::vector<float>& played) {
  std::vector<float> output;
  for (size_t i = 0; i + kFrame <= heard.size(); i += kFrame) {
    const auto frame = canceller.process(std::span(heard).subspan(i, kFrame),
                                         std::span(played).subspan(i, kFrame));
    output.insert(output.end(), frame.begin(), frame.end());
  }
  return output;
}

/// A quarter of it, 100 ms later.
std::vector<float> echo_of(const std::vector<float>& played) {
  std::vector<float> echo(played.size());
  for (size_t i = 1600; i < echo.size(); ++i) echo[i] = 0.25f * played[i - 1600];
  return echo;
}

TEST(EchoCanceller, TakesOutWhatIsPlayedAndKeepsWhatIsSaid) {
  if (!has_echo_canceller()) GTEST_SKIP() << "no speexdsp";
  EchoCanceller canceller;
  const std::vector<float> played = speech_like(6, 1), said = speech_like(6, 2, 0.05f);
  std::vector<float> heard = echo_of(played);
  const size_t half = heard.size() / 2;
  for (size_t i = half; i < heard.size(); ++i) heard[i] += said[i];
  const std::vector<float> output = process(canceller, heard, played);
  const size_t second = kRoomRate;
  EXPECT_GT(decibels(energy(std::span(heard).subspan(2 * second, second)),
                     energy(std::span(output).subspan(2 * second, second))),
            25);
  std::vector<float> wrong, wrong_before, kept;
  for (size_t i = half; i + kFrame < heard.size(); ++i) {
    kept.push_back(said[i]);
    wrong_before.push_back(heard[i] - said[i]);
    wrong.push_back(output[i + kFrame] - said[i]);
  }
  EXPECT_GT(decibels(energy(wrong_before), energy(wrong)), 5);
  EXPECT_GT(decibels(energy(kept), energy(wrong)), 8);
}

TEST(EchoCanceller, SilenceStaysSilence) {
  if (!has_echo_canceller()) GTEST_SKIP() << "no speexdsp";
  EchoCanceller canceller;
  const std::vector<float> silence(2 * kRoomRate);
  EXPECT_LT(energy(process(canceller, silence, silence)), 1e-6);
}

TEST(EchoCanceller, WithoutTheLibraryItIsRefusedByName) {
  if (has_echo_canceller()) GTEST_SKIP() << "the library is there";
  EXPECT_THROW(EchoCanceller(), UserError);
}

}  // namespace
}  // namespace predgen
