#include "hear/asr/ears.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/fakes/spoken_sound.h"

namespace predgen::ears {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Type = EarsFrame::Type;

EarsFrame sound_of(uint32_t stream, int first, int last, int64_t silence) {
  std::vector<float> sound;
  say(sound, first, last);
  pause(sound, silence);
  return {.type = Type::kSound, .stream = stream, .payload = samples_to_bytes(sound)};
}

struct House {
  HearVoice hear_voice() { return hear_loudness; }
  /// Decodes all that is wanted; the streams and needs, in order.
  std::vector<std::pair<uint32_t, Need>> work() {
    std::vector<std::pair<uint32_t, Need>> order;
    while (const auto job = ears.next_job()) {
      order.emplace_back(job->stream, job->need);
      ears.finish_job(*job, Decoded{.text = words_in(job->sound)});
    }
    return order;
  }
  std::string finals(uint32_t stream) {
    std::string texts;
    for (const EarsFrame& frame : ears.take_frames()) {
      if (frame.stream != stream) continue;
      if (frame.type == Type::kDone) texts += "done";
      if (frame.type != Type::kHeard) continue;
      const RecognisedSegment segment = segment_from_json(frame.payload);
      if (segment.is_over) texts += segment.text + "|";
    }
    return texts;
  }
  Ears ears{[] { return hear_loudness; }, {}};
};

TEST(Ears, AStreamBeginsWithItsSoundAndEndsWithItsEnd) {
  House house;
  house.ears.take(sound_of(7, 1, 2, 0));
  house.ears.take({.type = Type::kEnd, .stream = 7});
  house.work();
  EXPECT_EQ(house.finals(7), "1 2.|done");
  EXPECT_THAT(house.ears.take_ended(), ElementsAre(7));
  EXPECT_THROW(house.ears.take(sound_of(7, 1, 1, 0)), UserError);
  house.ears.take({.type = Type::kEnd, .stream = 8});
  EXPECT_EQ(house.finals(8), "done");
}

TEST(Ears, FinalsComeBeforePausesAndPausesBeforePartials) {
  House house;
  house.ears.take(sound_of(1, 1, 4, 0));
  house.ears.take(sound_of(2, 1, 4, 4));
  house.ears.take(sound_of(3, 1, 4, 40));
  house.ears.take(sound_of(4, 1, 4, 0));
  EXPECT_THAT(house.work(),
              ElementsAre(std::pair(3u, Need::kFinal), std::pair(2u, Need::kPause),
                          std::pair(1u, Need::kPartial), std::pair(4u, Need::kPartial)));
}

TEST(Ears, AStreamHasOneDecodeAtATime) {
  House house;
  house.ears.take(sound_of(1, 1, 4, 0));
  const auto job = house.ears.next_job();
  ASSERT_TRUE(job);
  house.ears.take(sound_of(1, 5, 9, 40));
  EXPECT_FALSE(house.ears.next_job());
  house.ears.finish_job(*job, Decoded{.text = words_in(job->sound)});
  EXPECT_THAT(house.work(), ElementsAre(std::pair(1u, Need::kFinal)));
}

TEST(Ears, APartialIsInTheWayOfAnythingMoreUrgent) {
  House house;
  EXPECT_FALSE(house.ears.is_late());
  house.ears.take(sound_of(1, 1, 4, 0));
  auto job = house.ears.next_job();
  ASSERT_TRUE(job);
  house.ears.take(sound_of(2, 1, 4, 0));  // another partial
  EXPECT_FALSE(house.ears.is_late());
  house.ears.take(sound_of(2, 1, 0, 4));  // its pause
  EXPECT_TRUE(house.ears.is_late());
  house.ears.finish_job(*job, std::nullopt);
  EXPECT_FALSE(house.ears.is_late());
  EXPECT_THAT(house.work(),
              ElementsAre(std::pair(2u, Need::kPause), std::pair(1u, Need::kPartial)));
  // It is stopped once: the next one runs to its end.
  house.ears.take(sound_of(1, 5, 8, 0));
  job = house.ears.next_job();
  ASSERT_TRUE(job);
  house.ears.take(sound_of(2, 5, 6, 4));
  EXPECT_TRUE(house.ears.is_late());
  house.ears.finish_job(*job, std::nullopt);
  house.work();
  // A pause's decode is not stopped for another stream, but nobody needs a dropped one's.
  house.ears.take(sound_of(1, 5, 8, 4));
  job = house.ears.next_job();
  ASSERT_TRUE(job);
  house.ears.take(sound_of(2, 5, 6, 40));
  EXPECT_FALSE(house.ears.is_late());
  house.ears.take({.type = Type::kDrop, .stream = 1});
  EXPECT_TRUE(house.ears.is_late());
}

TEST(Ears, StreamsAreServedInTurn) {
  House house;
  std::vector<uint32_t> order;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t stream = 1; stream <= 3; ++stream) house.ears.take(sound_of(stream, 1, 4, 0));
    for (int i = 0; i < 2; ++i) {  // there is time for two of three
      const auto job = house.ears.next_job();
      ASSERT_TRUE(job);
      order.push_back(job->stream);
      house.ears.finish_job(*job, Decoded{});
    }
  }
  EXPECT_THAT(order, ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(Ears, WhatIsDroppedIsNotToldEvenIfItIsBeingDecoded) {
  House house;
  house.ears.take(sound_of(1, 1, 4, 0));
  const auto job = house.ears.next_job();
  ASSERT_TRUE(job);
  house.ears.take_frames();
  house.ears.take({.type = Type::kDrop, .stream = 1});
  house.ears.finish_job(*job, Decoded{.text = "late"});
  EXPECT_THAT(house.ears.take_frames(), IsEmpty());
  house.ears.take({.type = Type::kDrop, .stream = 99});  // nobody's
  EXPECT_THAT(house.work(), IsEmpty());
}

TEST(Ears, EndsAreJudgedInPauses) {
  House house;
  house.ears.take(sound_of(1, 1, 2, 0));
  EXPECT_FALSE(house.ears.take_turn_sound(1));
  house.ears.take(sound_of(1, 1, 0, 5));
  const auto sound = house.ears.take_turn_sound(1);
  ASSERT_TRUE(sound);
  EXPECT_THAT(*sound, SizeIs(2 * kWordSamples + 5 * kWindow));
  EXPECT_FALSE(house.ears.take_turn_sound(1));  // once per pause
  house.ears.set_end(1, 0.5);
  house.ears.set_end(9, 0.5);  // over meanwhile
  bool is_told = false;
  for (const EarsFrame& frame : house.ears.take_frames()) {
    is_told = is_told || segment_from_json(frame.payload).voice->end == 0.5;
  }
  EXPECT_TRUE(is_told);
}

TEST(Ears, WhatOnlyTheProgramSendsIsRefused) {
  House house;
  for (const Type type : {Type::kHeard, Type::kReady, Type::kDone, Type::kPong, Type::kPing}) {
    EXPECT_THROW(house.ears.take({.type = type, .stream = 1}), UserError);
  }
  EXPECT_THROW(house.ears.take({.type = Type::kSound, .stream = 1, .payload = "abc"}), UserError);
  for (uint32_t stream = 2; stream < 2 + Ears::kMostStreams - 1; ++stream) {
    house.ears.take({.type = Type::kSound, .stream = stream});
  }
  EXPECT_THROW(house.ears.take({.type = Type::kSound, .stream = 5000}), UserError);
}

}  // namespace
}  // namespace predgen::ears
