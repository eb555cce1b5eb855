#include <gtest/gtest.h>

#include <algorithm>

#include "audio/sample_ring.h"
#include "core/stop.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {
namespace {

constexpr int kDeviceRate = 1000;  // Hz: a block is 20 samples

struct Device {
  void push(size_t count, float value) { sound.push(std::vector<float>(count, value)); }
  /// What is there, as far as it makes blocks.
  std::vector<float> read(int num_blocks) {
    std::vector<float> samples;
    for (int i = 0; i < num_blocks; ++i) {
      const std::span<const float> block = sound.read([this] { return is_running; });
      samples.insert(samples.end(), block.begin(), block.end());
    }
    return samples;
  }

  ManualClock clock;
  std::stop_source stop;
  DeviceSound sound{kDeviceRate, clock, stop.get_token()};
  bool is_running = true;
};

TEST(DeviceSound, WhatIsNotReadInTimeIsSilenceOfTheSameLength) {
  Device device;
  device.push(1000, 1);
  device.push(300, 2);  // no room
  std::vector<float> heard = device.read(1);
  device.push(100, 3);  // there is room for some of the silence only
  const std::vector<float> rest = device.read(50);
  heard.insert(heard.end(), rest.begin(), rest.end());
  device.push(20, 4);
  const std::vector<float> last = device.read(20);
  heard.insert(heard.end(), last.begin(), last.end());
  std::vector<float> expected(1420, 1);
  std::fill(expected.begin() + 1000, expected.begin() + 1400, 0);
  std::fill(expected.begin() + 1400, expected.end(), 4);
  EXPECT_EQ(heard, expected);
  EXPECT_EQ(device.sound.num_lost(), 400);
}

TEST(DeviceSound, ADeviceThatGivesNothingAnyMoreIsGoneAfterAWhile) {
  Device device;
  device.push(30, 1);
  device.read(1);
  device.clock.set(100);
  device.push(10, 1);
  device.read(1);
  expect_user_error([&] { device.read(1); }, {"no sound for 5 s"});
  EXPECT_NEAR(device.clock.now().count(), 105, 0.1);
}

TEST(DeviceSound, ADeviceThatDoesNotRunIsNotWaitedFor) {
  Device device;
  device.is_running = false;
  expect_user_error([&] { device.read(1); }, {"the microphone has stopped"});
  EXPECT_EQ(device.clock.now(), Seconds(0));
}

TEST(DeviceSound, AStopEndsTheWait) {
  Device device;
  device.stop.request_stop();
  EXPECT_THROW(device.read(1), Interrupted);
}

}  // namespace
}  // namespace predgen
