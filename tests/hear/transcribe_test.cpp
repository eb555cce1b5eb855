#include "hear/transcribe.h"

#include <gtest/gtest.h>

#include "audio/sound_encoder.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/recogniser_desk.h"

namespace predgen {
namespace {

std::string seconds_of_silence(int seconds) {
  SoundEncoder encoder(SoundFormat::kWav, kRecogniserRate);
  return encoder.encode(std::vector<float>(static_cast<size_t>(seconds) * kRecogniserRate));
}

struct AnsweringDesk : RecogniserDesk {
  /// `answer` is what is heard when the sound has ended.
  explicit AnsweringDesk(std::function<void(AnsweringDesk& desk)> answer) {
    on_finish = [this, answer = std::move(answer)] { answer(*this); };
  }
  Transcription transcript(
      int seconds, const std::function<bool()>& goes_on = [] { return true; }) {
    const std::string bytes = seconds_of_silence(seconds);
    SoundInMemory sound{std::string(bytes)};
    return transcribe(
        sound, make, [&](const HeardPart& part) { told.push_back(part.text); }, goes_on);
  }
  std::vector<std::string> told;
};

HeardVoice voice_between(int64_t since, int64_t until) {
  return {.since = since * kRecogniserRate, .until = until * kRecogniserRate};
}

TEST(Transcribe, PartsHaveTheirWordsAndTimes) {
  AnsweringDesk desk([](AnsweringDesk& at) {
    at.hear_voice("hello", voice_between(1, 2));
    at.hear_voice("hello there", voice_between(1, 3), /*is_over=*/true);
    at.handler->on_segment(
        0, {.text = "bye", .number = 1, .is_over = true, .voice = voice_between(5, 6)});
    at.end();
  });
  const Transcription heard = desk.transcript(7);
  EXPECT_EQ(heard.text(), "hello there bye");
  EXPECT_DOUBLE_EQ(heard.seconds, 7);
  ASSERT_EQ(heard.parts.size(), 2U);
  EXPECT_DOUBLE_EQ(heard.parts[0].begin, 1);
  EXPECT_DOUBLE_EQ(heard.parts[0].end, 3);
  EXPECT_DOUBLE_EQ(heard.parts[1].begin, 5);
  EXPECT_DOUBLE_EQ(heard.parts[1].end, 6);
  EXPECT_EQ(desk.told, (std::vector<std::string>{"hello there", "bye"}));
  EXPECT_EQ(desk.samples.size(), 7U * kRecogniserRate);
}

TEST(Transcribe, ARecogniserThatTellsNoVoiceIsUnderstood) {
  AnsweringDesk desk([](AnsweringDesk& at) {
    at.hear("one", false, 0);
    at.hear("two", false, 1);  // which ends the one before
    at.end();
  });
  const Transcription heard = desk.transcript(3);
  EXPECT_EQ(heard.text(), "one two");
  EXPECT_DOUBLE_EQ(heard.parts.back().end, 3);
}

TEST(Transcribe, SilenceIsNoText) {
  AnsweringDesk desk([](AnsweringDesk& at) { at.end(); });
  EXPECT_EQ(desk.transcript(2).text(), "");
  EXPECT_TRUE(desk.told.empty());
}

TEST(Transcribe, AFailureOfTheRecogniserIsTold) {
  AnsweringDesk desk([](AnsweringDesk& at) { at.handler->on_failure("has gone away"); });
  EXPECT_THROW(desk.transcript(2), RecogniserError);
}

TEST(Transcribe, NobodyWaitsForARecogniserThatNobodyListensTo) {
  AnsweringDesk never([](AnsweringDesk&) {});
  int looks = 0;
  EXPECT_EQ(never.transcript(2, [&] { return ++looks < 5; }).text(), "");
  AnsweringDesk full([](AnsweringDesk&) {});
  full.is_full = true;
  EXPECT_EQ(full.transcript(2, [&] { return full.samples.empty() && ++looks < 10; }).text(), "");
}

}  // namespace
}  // namespace predgen
