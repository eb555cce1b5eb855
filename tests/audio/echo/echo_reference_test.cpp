#include "audio/echo/echo_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace predgen {
namespace {

constexpr int kPerMs = EchoReference::kRate / 1000;
constexpr double kConverter = 3;  // ms that it looks ahead

/// A device that plays 1, 2, 3 .. and a microphone, by the millisecond.
struct Devices {
  Devices() : reference(begun()) {}
  PlayedSound& begun() {
    played.begin(EchoReference::kRate);
    return played;
  }
  void play(int milliseconds) {
    std::vector<float> piece(static_cast<size_t>(milliseconds * kPerMs));
    for (float& sample : piece) sample = static_cast<float>(++num_played);
    played.add(piece);
  }
  /// How many ms of what was played are behind the last sample that is given; < 0: silence is.
  double hear(int milliseconds) {
    std::vector<float> samples(static_cast<size_t>(milliseconds * kPerMs));
    num_moves += reference.take(samples) ? 0 : 1;
    if (samples.back() == 0) return -1;
    return (static_cast<double>(num_played) - samples.back()) / kPerMs;
  }

  PlayedSound played;
  int64_t num_played = 0;
  int num_moves = 0;
  EchoReference reference;
};

TEST(EchoReference, IsInStepWhereDevicesHandOverTheirSoundInDifferentPieces) {
  Devices devices;
  double least = 1e9, most = 0;
  for (int ms = 0; ms < 20'000; ms += 10) {
    if (ms % 40 == 0) devices.play(40);
    if (ms % 20 != 10) continue;
    const double behind = devices.hear(20);
    if (ms == 1010) devices.num_moves = 0;
    if (ms < 1000) continue;
    least = std::min(least, behind);
    most = std::max(most, behind);
  }
  EXPECT_EQ(devices.num_moves, 0);
  EXPECT_NEAR(least, kConverter, 1);  // as far ahead as can be
  EXPECT_NEAR(most, kConverter + 20, 1);
}

TEST(EchoReference, APieceThatIsLateIsWaitedForAndWhatIsTooMuchThenIsDropped) {
  Devices devices;
  for (int i = 0; i < 20; ++i) {
    devices.play(20);
    devices.hear(20);
  }
  devices.num_moves = 0;
  for (int i = 0; i < 5; ++i) EXPECT_LT(devices.hear(20), 0);  // 100 ms
  EXPECT_EQ(devices.num_moves, 5);
  EXPECT_NEAR(static_cast<double>(devices.reference.num_repeated()), (kConverter + 100) * kPerMs,
              kPerMs);
  devices.play(100);
  for (int i = 0; i < 600; ++i) {
    devices.play(20);
    devices.hear(20);
  }
  EXPECT_EQ(devices.num_moves, 6);
  EXPECT_NEAR(static_cast<double>(devices.reference.num_waiting()), 10 * kPerMs, kPerMs);
  EXPECT_NEAR(static_cast<double>(devices.reference.num_dropped()), 90 * kPerMs, kPerMs);
}

TEST(EchoReference, ClocksThatDifferNeverPartFar) {
  for (const int longer : {-1, 1}) {  // of 1000 samples, a tenth of that in earnest
    Devices devices;
    int64_t most = 0;
    for (int i = 0; i < 10'000; ++i) {
      std::vector<float> piece(static_cast<size_t>(20 * kPerMs + (i % 3 == 0 ? longer : 0)), 0.5f);
      devices.played.add(piece);
      devices.hear(20);
      most = std::max(most, devices.reference.num_waiting());
    }
    EXPECT_LE(most, 60 * kPerMs);
    if (longer > 0) {
      EXPECT_NEAR(static_cast<double>(devices.reference.num_dropped()), 3'333, 700);
    } else {
      EXPECT_NEAR(static_cast<double>(devices.reference.num_repeated()), 3'333, 700);
    }
    EXPECT_LT(devices.num_moves, longer > 0 ? 10 : 3'400);
  }
}

TEST(EchoReference, BeginsAnewWithWhatIsPlayedNowWhereNobodyHasTakenIt) {
  Devices devices;
  for (int i = 0; i < 500; ++i) devices.play(20);  // before the microphone is there
  devices.hear(20);
  EXPECT_EQ(devices.reference.num_waiting(), 0);
  devices.play(20);
  devices.num_moves = 0;
  EXPECT_NEAR(devices.hear(20), kConverter, 1);
  EXPECT_EQ(devices.num_moves, 0);
  for (int i = 0; i < 500; ++i) devices.play(20);  // it has stopped for 10 s
  devices.hear(20);
  EXPECT_EQ(devices.num_moves, 1);
  devices.play(20);
  EXPECT_NEAR(devices.hear(20), kConverter, 1);
}

TEST(EchoReference, IsSilentWhereTheDeviceHasStopped) {
  Devices devices;
  devices.play(20);
  devices.hear(20);
  for (int i = 0; i < 100; ++i) EXPECT_LT(devices.hear(20), 0);
  EXPECT_EQ(devices.reference.num_waiting(), 0);
}

TEST(EchoReference, HasTheRateOfTheMicrophone) {
  PlayedSound played;
  played.begin(48'000);
  EchoReference reference(played);
  std::vector<float> piece(960, 0.5f), samples(320);
  size_t num_alike = 0;
  for (int i = 0; i < 50; ++i) {
    played.add(piece);
    reference.take(samples);
    num_alike += static_cast<size_t>(
        std::ranges::count_if(samples, [](float x) { return std::abs(x - 0.5f) < 0.02f; }));
  }
  EXPECT_GT(num_alike, 48 * 320u);
  EXPECT_LT(reference.num_waiting(), 40 * kPerMs);
}

}  // namespace
}  // namespace predgen
