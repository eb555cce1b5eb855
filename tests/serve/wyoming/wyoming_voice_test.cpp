#include "serve/wyoming/wyoming_voice.h"

#include <gtest/gtest.h>

#include "tests/fakes/waiting.h"
#include "tests/serve/wyoming/visit.h"

namespace predgen::serve {
namespace {

constexpr size_t kSentence = RealtimeVoice::kChunksPerSentence * RealtimeVoice::kChunk;

/// How many samples are passed on; 0: none were expected.
size_t spoken(SpokenAhead& ahead, const std::string& name, const std::string& sentence) {
  size_t count = 0;
  const bool was_expected = ahead.speak(name, sentence, {}, [&](std::span<const float> samples) {
    count += samples.size();
    return true;
  });
  EXPECT_EQ(was_expected, count > 0);
  return count;
}

/// How many voices have been asked for.
size_t num_voices(House& house) {
  const std::lock_guard lock(house.voices_mutex);
  return house.voices.size();
}

TEST(SpokenAhead, HasTheSoundOnce) {
  House house(/*has_voice=*/true);
  SpokenAhead ahead(house.voice);
  ahead.expect("One.");
  EXPECT_EQ(spoken(ahead, "", "One."), 0u) << "nobody had asked for sound";
  ahead.expect("One.");
  ASSERT_TRUE(comes_true([&] { return num_voices(house) > 0; }));
  EXPECT_EQ(spoken(ahead, "otto", "One."), 0u) << "in another voice";
  EXPECT_EQ(spoken(ahead, "", "Two."), 0u);
  EXPECT_EQ(spoken(ahead, "anna", "One."), kSentence);
  EXPECT_EQ(spoken(ahead, "anna", "One."), 0u) << "it is forgotten";
}

TEST(SpokenAhead, LeavesABrokenSentenceToWhoAsks) {
  House house(/*has_voice=*/true);
  house.broken_sentence = "One.";
  SpokenAhead ahead(house.voice);
  EXPECT_EQ(spoken(ahead, "", "Two."), 0u);
  ahead.expect("One.");
  ASSERT_TRUE(comes_true([&] { return num_voices(house) > 0; }));
  EXPECT_EQ(spoken(ahead, "", "One."), 0u);
}

TEST(SpokenAhead, AnAnswersFirstSentenceIsSoundWhenItIsAskedFor) {
  House house;  // whose conversations answer with text
  Service service(house);
  SpokenAhead ahead(house.voice);
  service.host.ahead = &ahead;
  EXPECT_EQ(spoken(ahead, "", "Two."), 0u);
  Visit asking(service), speaking(service);
  asking.say("one", "c");
  EXPECT_EQ(asking.answer(), "You said: one. Go on!");
  ASSERT_TRUE(comes_true([&] { return num_voices(house) == 1; })) << "nobody has asked for sound";
  speaking.send("synthesize", {{"text", "You said: one. Go on!"}});
  size_t bytes = 0;
  for (const WyomingEvent& event : speaking.client.until("audio-stop")) {
    bytes += event.payload.size();
  }
  EXPECT_EQ(bytes, 2 * kSentence * 2);
  EXPECT_EQ(spoken(ahead, "", "You said: one."), 0u) << "it was passed on";
}

}  // namespace
}  // namespace predgen::serve
