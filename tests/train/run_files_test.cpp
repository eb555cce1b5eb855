#include <gtest/gtest.h>

#include <cstring>

#include "core/files.h"
#include "tests/fakes/temporary_folder.h"
#include "train/run_log.h"

namespace predgen::train {
namespace {

TEST(MetricsLog, ForgetsWhatCameAfterTheResumedStep) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "metrics.jsonl";
  {
    MetricsLog log(file, 0);
    for (int64_t step = 1; step <= 4; ++step) log.write({{"step", step}, {"x", 0.5}});
  }
  write_file(file, read_file(file) + "{\"step\": 5, \"x");  // killed in the middle of a line
  {
    MetricsLog log(file, 2);
    log.write({{"step", 3}, {"x", 1.5}});
  }
  EXPECT_EQ(read_file(file),
            "{\"step\":1,\"x\":0.5}\n{\"step\":2,\"x\":0.5}\n{\"step\":3,\"x\":1.5}\n");
}

TEST(TensorboardWriter, ComputesCastagnoliChecksums) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);  // the standard's check value
}

TEST(TensorboardWriter, WritesFramedEvents) {
  const TemporaryFolder folder;
  TensorboardWriter writer(folder.path(), 1, 1000.0);
  writer.scalar("train/ar", 300, 0.25, 1001.0);
  const std::string bytes = read_file(writer.file());
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    events.push_back(bytes.substr(at + 12, length));
    at += 12 + length + 4;
    ASSERT_LE(at, bytes.size());
  }
  ASSERT_EQ(events.size(), 3u);
  EXPECT_NE(events[0].find("brain.Event:2"), std::string::npos);
  // wall time (field 1), step 300 as a varint (field 2), Summary (field 5), Value (field 1), tag
  // (field 1), float 0.25 (field 2).
  const std::string expected = std::string("\x10\xac\x02\x2a\x11\x0a\x0f\x0a\x08train/ar\x15", 18) +
                               std::string("\x00\x00\x80\x3e", 4);
  EXPECT_EQ(events[2].substr(9), expected);
}

}  // namespace
}  // namespace predgen::train
