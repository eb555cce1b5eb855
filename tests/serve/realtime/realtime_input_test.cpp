#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base64.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

/// Silence, as a client sends it.
std::string silence(int64_t milliseconds) {
  return to_base64(std::string(static_cast<size_t>(2 * milliseconds * kRealtimeRate / 1000), '\0'));
}

/// A client that sends sound, and a recogniser.
struct SoundDesk {
  explicit SoundDesk(const Json& input) {
    house.host.make_recogniser = desk.make;
    house.host.offer.has_recogniser = true;
    talk.emplace(house);
    talk->update({{"type", "realtime"}, {"audio", {{"input", input}}}});
    talk->client.next("session.updated");
  }
  void append(const std::string& base64) {
    talk->send({{"type", "input_audio_buffer.append"}, {"audio", base64}});
  }
  void commit() { talk->send({{"type", "input_audio_buffer.commit"}}); }
  /// Of the turn that was committed.
  double seconds() {
    desk.end();
    return talk->client.next(
        "conversation.item.input_audio_transcription.completed")["usage"]["seconds"];
  }

  House house;
  RecogniserDesk desk;
  std::optional<Talk> talk;
};

const Json kCommits{{"turn_detection", nullptr}};

TEST(RealtimeInput, ATurnIsTheItemThatItBeganAsAndIsAnsweredOnlyIfTheClientWantsThat) {
  SoundDesk desk(Json{{"turn_detection", {{"type", "server_vad"}, {"create_response", false}}}});
  std::vector<std::string> items;
  for (int64_t i = 0; i < 2; ++i) {
    desk.append(silence(1000));
    desk.desk.hear("find me", /*is_over=*/true, i);
    desk.append(silence(500));
    items.push_back(desk.talk->client.next("input_audio_buffer.speech_started")["item_id"]);
    EXPECT_EQ(desk.talk->client.next("input_audio_buffer.committed")["item_id"], items.back());
    desk.talk->client.next("conversation.item.input_audio_transcription.completed");
  }
  EXPECT_NE(items[0], items[1]);
  EXPECT_EQ(desk.talk->client.num_unread(), 0u);
}

TEST(RealtimeInput, WhatIsNoSoundIsRefused) {
  SoundDesk desk(kCommits);
  Talk& talk = *desk.talk;
  desk.append("no base64!");
  EXPECT_EQ(talk.error_code(), "invalid_value");
  desk.commit();
  EXPECT_EQ(talk.error_code(), "input_audio_buffer_commit_empty");
  desk.append("");
  desk.append(silence(99));
  desk.commit();
  EXPECT_EQ(talk.error_code(), "input_audio_buffer_commit_empty");
  desk.append(silence(600'000));
  EXPECT_EQ(talk.error_code(), "input_audio_buffer_too_long");
  desk.append(silence(1));
  desk.commit();
  for (int i = 0; i < 7; ++i) {
    desk.append(silence(100));
    desk.commit();
  }
  EXPECT_EQ(talk.client.num_unread(), 0u);
  desk.append(silence(100));
  desk.commit();
  EXPECT_EQ(talk.error_code(), "too_many_commits");
}

TEST(RealtimeInput, SoundComesInPiecesOfAnySize) {
  SoundDesk desk(kCommits);
  const std::string bytes(2 * kRealtimeRate / 5, '\x01');  // 0.2 s
  for (size_t begin = 0; begin < bytes.size(); begin += 333) {
    std::string piece = to_base64(std::string_view(bytes).substr(begin, 333));
    piece.erase(std::min(piece.find('='), piece.size()));
    desk.append(piece + "\n");
  }
  desk.append("AA");  // a half that nothing follows
  desk.commit();
  EXPECT_DOUBLE_EQ(desk.seconds(), 0.2);
  const float loud = 257 / 32768.0f;
  EXPECT_NEAR(desk.desk.samples[1000], loud, 1e-3);
}

TEST(RealtimeInput, ATelephonesSoundIsAsLongAsItIs) {
  SoundDesk desk(Json{{"turn_detection", nullptr}, {"format", {{"type", "audio/pcma"}}}});
  for (int i = 0; i < 50; ++i) desk.append(to_base64(std::string(160, '\xd5')));  // 20 ms each
  desk.commit();
  EXPECT_NEAR(desk.seconds(), 1, 1e-3);
}

}  // namespace
}  // namespace predgen::serve
