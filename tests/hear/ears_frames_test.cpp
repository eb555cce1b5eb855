#include "hear/ears_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/error.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using Type = EarsFrame::Type;

const std::string kBytes = to_bytes({.type = Type::kHeard, .stream = 0x01020304, .payload = "abc"});

TEST(EarsFrames, AFrameIsItsTypeStreamLengthAndPayload) {
  EXPECT_EQ(kBytes, std::string("H\4\3\2\1\3\0\0\0abc", 12));
  EXPECT_THROW(to_bytes({.payload = std::string(kMaxEarsPayload + 1, 'x')}), Error);
}

TEST(EarsFrames, BytesBecomeFramesHoweverTheyCome) {
  const std::string bytes = kBytes + to_bytes({.type = Type::kDone, .stream = 7}) + kBytes;
  for (size_t size = 1; size <= bytes.size(); ++size) {
    EarsFrameReader reader;
    std::vector<EarsFrame> frames;
    for (size_t i = 0; i < bytes.size(); i += size) {
      reader.add(std::string_view(bytes).substr(i, size));
      while (const auto frame = reader.next()) frames.push_back(*frame);
    }
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].payload, "abc");
    EXPECT_EQ(frames[0].stream, 0x01020304u);
    EXPECT_EQ(frames[1].type, Type::kDone);
    EXPECT_EQ(frames[1].stream, 7u);
    EXPECT_FALSE(reader.is_inside());
  }
}

TEST(EarsFrames, WhatIsCutWaitsForMore) {
  for (size_t size = 0; size < kBytes.size(); ++size) {
    EarsFrameReader reader;
    reader.add(std::string_view(kBytes).substr(0, size));
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.is_inside(), size > 0);
  }
}

TEST(EarsFrames, HugeLengthsAndUnknownTypesAreRefusedAtOnce) {
  for (const std::string& bytes : std::vector<std::string>{
           std::string("H\0\0\0\0\1\0\x10\0", 9), std::string("H\0\0\0\0\xff\xff\xff\xff", 9),
           std::string("h"), std::string("\0", 1), std::string("\xff")}) {
    EarsFrameReader reader;
    reader.add(bytes);
    EXPECT_THROW(reader.next(), UserError) << bytes;
  }
}

TEST(EarsFrames, SamplesComeBackAsTheyWere) {
  const std::vector<float> samples{0.5f, -1, 1e-9f, 3};
  EXPECT_EQ(samples_from_bytes(samples_to_bytes(samples)), samples);
  EXPECT_THROW(samples_from_bytes("abc"), UserError);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(samples_from_bytes(samples_to_bytes(std::vector<float>{infinity, NAN, 1e30f, -1})),
              ElementsAre(0, 0, 0, -1));
}

TEST(EarsFrames, ASegmentComesBackAsItWas) {
  const RecognisedSegment segment{
      .text = "a \"table\" \u00fc",
      .number = 3,
      .is_over = true,
      .voice = HeardVoice{
          .is_active = true, .since = 5, .until = 7, .is_in_words = true, .end = 0.25, .heard = 9}};
  const RecognisedSegment back = segment_from_json(segment_to_json(segment));
  EXPECT_EQ(back.text, segment.text);
  EXPECT_EQ(back.number, 3);
  EXPECT_TRUE(back.is_over);
  ASSERT_TRUE(back.voice);
  EXPECT_TRUE(back.voice->is_active);
  EXPECT_EQ(back.voice->since, 5);
  EXPECT_EQ(back.voice->until, 7);
  EXPECT_TRUE(back.voice->is_in_words);
  EXPECT_EQ(back.voice->end, 0.25);
  EXPECT_EQ(back.voice->heard, 9);
  EXPECT_FALSE(segment_from_json(segment_to_json({.text = "a"})).voice);
  EXPECT_EQ(segment_from_json(segment_to_json({.text = "\xff"})).text, "\ufffd");
}

TEST(EarsFrames, WhatIsNoSegmentIsRefusedAndNotQuoted) {
  const std::string voice = R"("voice": {"active": true, "since": 1, "until": 2, "in_words": true)";
  const std::vector<std::string> bad{
      "secret",
      "[]",
      "{}",
      R"({"text": "secret"})",
      R"({"text": "secret", "segment": -1, "over": true})",
      R"({"text": "secret", "segment": 1.5, "over": true})",
      R"({"text": "secret", "segment": 1e300, "over": true})",
      R"({"text": "secret", "segment": 99999999999999999999, "over": true})",
      R"({"text": 5, "segment": 1, "over": true})",
      R"({"text": "secret", "segment": 1, "over": "yes"})",
      R"({"text": "secret", "segment": 1, "over": true, "voice": 5})",
      R"({"text": "secret", "segment": 1, "over": true, )" + voice + R"(, "end": 1.5}})",
      R"({"text": "secret", "segment": 1, "over": true, )" + voice + R"(, "end": "secret"}})",
      std::string(100'000, '[')};
  for (const std::string& json : bad) {
    try {
      segment_from_json(json);
      ADD_FAILURE() << json;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
}

TEST(EarsFrames, RandomBytesBreakNothing) {
  std::mt19937 random(3);
  const std::string good =
      to_bytes({.type = Type::kHeard,
                .stream = 1,
                .payload = segment_to_json({.text = "a table", .voice = HeardVoice{.end = 0.5}})});
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    EarsFrameReader reader;
    reader.add(bytes);
    try {
      while (const auto frame = reader.next()) segment_from_json(frame->payload);
    } catch (const UserError& error) {
      EXPECT_LE(std::string(error.what()).size(), 200u);
    }
  }
}

}  // namespace
}  // namespace predgen
