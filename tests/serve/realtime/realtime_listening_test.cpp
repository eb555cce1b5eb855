#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <semaphore>

#include "core/base64.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;

struct ListeningHouse : House {
  ListeningHouse() {
    host.make_recogniser = desk.make;
    host.offer.has_recogniser = true;
  }
  RecogniserDesk desk;
};

void speak(Talk& talk, int milliseconds = 1000) {
  talk.send({{"type", "input_audio_buffer.append"},
             {"audio", to_base64(std::string(static_cast<size_t>(milliseconds) * 48, '\0'))}});
}

void use_commits(Talk& talk) {
  talk.update({{"type", "realtime"}, {"audio", {{"input", {{"turn_detection", nullptr}}}}}});
  EXPECT_EQ(talk.client.next("session.updated")["session"]["audio"]["input"]["turn_detection"],
            nullptr);
}

TEST(RealtimeListening, ItsSessionSaysWhoDetectsTurns) {
  ListeningHouse house;
  Talk talk(house);
  const Json input = talk.created["session"]["audio"]["input"];
  EXPECT_EQ(input["turn_detection"]["type"], "server_vad");
  EXPECT_EQ(input["turn_detection"]["silence_duration_ms"], 500);
  EXPECT_EQ(input["transcription"]["model"], "recogniser");
  House deaf;
  EXPECT_EQ(Talk(deaf).created["session"]["audio"]["input"]["turn_detection"], nullptr);
}

/// Its recogniser reports voice activity.
struct HouseWithEars : ListeningHouse {
  HouseWithEars() {
    host.offer.has_voice_activity = true;
    host.offer.waits = {.shortest_ms = 100, .longest_ms = 100};
  }
  /// Words of the first second, the last of the voice.
  void hear(Talk& talk, const std::string& words) {
    speak(talk);
    desk.hear_voice(words, {.is_active = false, .until = 16000, .is_in_words = true});
  }
};

TEST(RealtimeListening, WhereTheVoiceIsKnownTurnsEndBySoundAndWordsUnlessTheClientSaysOtherwise) {
  HouseWithEars house;
  Talk talk(house);
  const Json detection = talk.created["session"]["audio"]["input"]["turn_detection"];
  EXPECT_EQ(detection["type"], "semantic_vad");
  EXPECT_EQ(detection["eagerness"], "auto");
  house.hear(talk, "hello");
  speak(talk, 150);  // as long as the words are waited for
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: hello. Go on!");
  use_commits(talk);
  talk.update({{"turn_detection", {{"type", "server_vad"}}}});
  EXPECT_EQ(
      talk.client.next(
          "session.updated")["session"]["audio"]["input"]["turn_detection"]["silence_duration_ms"],
      500);
}

TEST(RealtimeListening, WhereNothingIsDraftedNobodyWaitsForWhatTheWordsSay) {
  HouseWithEars house;
  house.host.session.turn.work = InputTimeWork::kCascade;
  Talk talk(house);
  house.hear(talk, "hello");
  speak(talk, 100);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: hello. Go on!");
}

TEST(RealtimeListening, APauseIsAnswered) {
  ListeningHouse house;
  Talk talk(house);
  speak(talk);
  house.desk.hear("hello");
  house.desk.hear("hello", /*is_over=*/true);
  speak(talk, 500);
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_THAT(
      types_of(events),
      ElementsAre("input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
                  "input_audio_buffer.committed", "conversation.item.added",
                  "conversation.item.done", "conversation.item.input_audio_transcription.delta",
                  "conversation.item.input_audio_transcription.completed", "response.created",
                  "response.output_item.added", "conversation.item.added",
                  "response.content_part.added", "response.output_text.delta",
                  "response.output_text.done", "response.content_part.done",
                  "response.output_item.done", "conversation.item.done", "response.done"));
  const Json& id = events[0]["item_id"];
  EXPECT_EQ(events[0]["audio_start_ms"], 1000);
  EXPECT_EQ(events[1]["audio_end_ms"], 1500);
  for (size_t i : {1, 2, 5, 6}) EXPECT_EQ(events[i]["item_id"], id);
  EXPECT_EQ(events[4]["item"]["id"], id);
  EXPECT_EQ(events[4]["item"]["content"],
            Json::parse(R"([{"type": "input_audio", "transcript": "hello"}])"));
  EXPECT_EQ(events[6]["transcript"], "hello");
  EXPECT_EQ(text_of(events.back()["response"]), "You said: hello. Go on!");
}

TEST(RealtimeListening, TheAnswerIsDraftedWhileItListens) {
  ListeningHouse house;
  std::binary_semaphore is_drafting(0);
  house.answer = [&](const std::string& user) {
    if (user == "find me a") is_drafting.release();
    return "You said: " + user + ". Go on!";
  };
  Talk talk(house);
  speak(talk);
  house.desk.hear("find me a");
  EXPECT_TRUE(is_drafting.try_acquire_for(std::chrono::seconds(20)));
}

TEST(RealtimeListening, AResponseWaitsForWhatWasCommitted) {
  ListeningHouse house;
  Talk talk(house);
  use_commits(talk);
  speak(talk);
  house.desk.hear("hel");
  talk.send({{"type", "input_audio_buffer.commit"}});
  talk.respond();
  talk.respond();
  EXPECT_EQ(talk.error_code(), "conversation_already_has_active_response");
  house.desk.hear("hello");
  house.desk.end();
  EXPECT_THAT(
      types_of(talk.client.until("response.created")),
      ElementsAre("input_audio_buffer.committed", "conversation.item.added",
                  "conversation.item.done", "conversation.item.input_audio_transcription.delta",
                  "conversation.item.input_audio_transcription.completed", "response.created"));
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: hello. Go on!");
}

TEST(RealtimeListening, AResponseThatWaitsCanBeCancelled) {
  ListeningHouse house;
  Talk talk(house);
  use_commits(talk);
  speak(talk);
  talk.send({{"type", "input_audio_buffer.commit"}});
  talk.respond();
  talk.send({{"type", "response.cancel"}});
  EXPECT_EQ(talk.client.next()["type"], "response.created");
  const Json response = talk.client.next()["response"];
  EXPECT_EQ(response["status"], "cancelled");
  EXPECT_EQ(response["status_details"]["reason"], "client_cancelled");
  house.desk.hear("hello");
  house.desk.end();
  talk.client.next("conversation.item.input_audio_transcription.completed");
  EXPECT_EQ(talk.client.num_unread(), 0u);
  talk.send({{"type", "response.cancel"}});
  EXPECT_EQ(talk.error_code(), "response_cancel_not_active");
}

TEST(RealtimeListening, AResponseToTextOutlivesLostSound) {
  ListeningHouse house;
  Talk talk(house);
  use_commits(talk);
  speak(talk);
  talk.send({{"type", "input_audio_buffer.commit"}});
  talk.say("one");
  talk.respond();
  house.desk.handler->on_failure("has gone away");
  EXPECT_EQ(talk.error_code(), "recogniser_failed");
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one. Go on!");
}

TEST(RealtimeListening, ACommitThatFailedIsNotWaitedFor) {
  ListeningHouse house;
  Talk talk(house);
  use_commits(talk);
  speak(talk);
  house.desk.on_finish = [] { throw std::runtime_error("no thread"); };
  talk.send({{"type", "input_audio_buffer.commit"}});
  talk.client.next("error");
  EXPECT_EQ(text_of(talk.ask("one")), "You said: one. Go on!");
}

TEST(RealtimeListening, ATurnForWhichThereIsNoRoomIsNotCommitted) {
  ListeningHouse house;
  Talk talk(house);
  talk.say(std::string((1 << 20) - 100, 'a'), "a");
  talk.send({{"type", "conversation.item.delete"}, {"item_id", "a"}});
  talk.client.next("conversation.item.deleted");
  speak(talk);
  house.desk.hear("hello", /*is_over=*/true);
  speak(talk, 500);
  const std::vector<Json> events = talk.client.until("error");
  EXPECT_EQ(events.back()["error"]["code"], "conversation_too_long");
  EXPECT_THAT(types_of(events), ElementsAre("input_audio_buffer.speech_started", "error"));
}

TEST(RealtimeListening, ACommitAloneIsNotAnswered) {
  ListeningHouse house;
  Talk talk(house);
  use_commits(talk);
  speak(talk);
  talk.send({{"type", "input_audio_buffer.commit"}});
  house.desk.hear("one");
  house.desk.end();
  talk.client.next("conversation.item.input_audio_transcription.completed");
  speak(talk);
  talk.send({{"type", "input_audio_buffer.commit"}});
  house.desk.end();  // nothing was understood
  const Json silent = talk.client.next("conversation.item.input_audio_transcription.completed");
  EXPECT_EQ(silent["transcript"], "");
  EXPECT_EQ(talk.client.num_unread(), 0u);
  talk.respond();
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one. Go on!");
  speak(talk);
  talk.send({{"type", "input_audio_buffer.clear"}});
  EXPECT_EQ(talk.client.next()["type"], "input_audio_buffer.cleared");
}

/// A talk in the middle of an answer that goes on as soon as the test lets it.
struct Interruption {
  explicit Interruption(const Json& detection) {
    house.on_pass = [this] {
      if (is_held) may_go_on.acquire();
    };
    talk.update({{"type", "realtime"}, {"audio", {{"input", {{"turn_detection", detection}}}}}});
    talk.client.next("session.updated");
    talk.say("one");
    is_held = true;
    talk.respond();
    talk.client.next("response.created");
    speak(talk);
    house.desk.hear("two");
    started = talk.client.next();
    house.desk.hear("two", /*is_over=*/true);
    speak(talk, 500);
    is_held = false;
    may_go_on.release();
    done = talk.client.next("response.done")["response"];
    next = talk.client.next("response.done")["response"];
  }
  std::atomic<bool> is_held = false;
  std::counting_semaphore<> may_go_on{0};
  ListeningHouse house;
  Talk talk{house};
  Json started, done, next;
};

TEST(RealtimeListening, ItsUserInterrupts) {
  const Interruption it(Json{{"type", "server_vad"}});
  EXPECT_EQ(it.started["type"], "input_audio_buffer.speech_started");
  EXPECT_EQ(it.done["status"], "cancelled");
  EXPECT_EQ(it.done["status_details"]["reason"], "turn_detected");
  EXPECT_EQ(text_of(it.next), "You said: one\ntwo. Go on!");  // no word of an answer was heard
}

TEST(RealtimeListening, UnlessThatIsNotWanted) {
  const Interruption it(Json{{"type", "server_vad"}, {"interrupt_response", false}});
  EXPECT_EQ(it.started["type"], "input_audio_buffer.speech_started");
  EXPECT_EQ(it.done["status"], "completed");
  EXPECT_EQ(text_of(it.next), "You said: two. Go on!");
}

/// An answer that is under way until go_on().
struct HeldAnswer {
  HeldAnswer() {
    house.on_pass = [this] {
      if (is_held) may_go_on.acquire();
    };
    talk.say("one");
    is_held = true;
    talk.respond();
    talk.client.next("response.created");
  }
  void go_on() {
    is_held = false;
    may_go_on.release();
  }

  std::atomic<bool> is_held = false;
  std::counting_semaphore<> may_go_on{0};
  ListeningHouse house;
  Talk talk{house};
};

TEST(RealtimeListening, WhoOnlyShowsThatHeListensInterruptsNothing) {
  HeldAnswer held;
  Talk& talk = held.talk;
  speak(talk);
  held.house.desk.hear("mm-hm");
  held.house.desk.hear("mm-hm", /*is_over=*/true);
  speak(talk, 500);
  EXPECT_EQ(talk.client.num_unread(), 0u) << "it is no turn";
  held.go_on();
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "completed");
  held.house.desk.hear("mm-hm", /*is_over=*/false, /*number=*/1);
  EXPECT_EQ(talk.client.next()["type"], "input_audio_buffer.speech_started") << "nothing is heard";
}

TEST(RealtimeListening, AServerThatStopsTakesNoMoreSound) {
  HeldAnswer held;
  Talk& talk = held.talk;
  talk.connection.on_drain();
  speak(talk);
  EXPECT_EQ(talk.error_code(), "server_stopping");
  held.go_on();
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "completed");
  talk.client.next("closed");
}

TEST(RealtimeListening, WordsThatAreTakenBackLetTheirQuestionBeAnswered) {
  for (const bool is_lost : {false, true}) {
    HeldAnswer held;
    Talk& talk = held.talk;
    speak(talk);
    held.house.desk.hear("two");
    talk.client.next("input_audio_buffer.speech_started");
    held.house.desk.hear("");
    if (is_lost) held.house.desk.handler->on_failure("has gone away");
    held.go_on();
    EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "cancelled");
    EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one. Go on!");
  }
}

TEST(RealtimeListening, WordsThatComeBackInterruptAgain) {
  HeldAnswer held;
  Talk& talk = held.talk;
  speak(talk);
  for (const char* words : {"two", "", "two"}) held.house.desk.hear(words);
  held.house.desk.hear("two", /*is_over=*/true);
  speak(talk, 500);
  held.go_on();
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_EQ(std::ranges::count(events, std::string("input_audio_buffer.speech_started"),
                               [](const Json& event) { return event["type"].get<std::string>(); }),
            1);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one\ntwo. Go on!");
}

TEST(RealtimeListening, AClientThatAsksForItsResponsesIsNotAnsweredAgain) {
  HeldAnswer held;
  Talk& talk = held.talk;
  talk.update(
      {{"type", "realtime"},
       {"audio",
        {{"input", {{"turn_detection", {{"type", "server_vad"}, {"create_response", false}}}}}}}});
  talk.client.next("session.updated");
  speak(talk);
  held.house.desk.hear("two");
  talk.client.next("input_audio_buffer.speech_started");
  held.house.desk.hear("");
  held.go_on();
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "cancelled");
  EXPECT_EQ(text_of(talk.ask("three")), "You said: one\nthree. Go on!");
}

TEST(RealtimeListening, WhatItsClientHasCancelledIsNotAnsweredAgain) {
  HeldAnswer held;
  Talk& talk = held.talk;
  talk.send({{"type", "response.cancel"}});
  speak(talk);
  held.house.desk.hear("two");  // the answer may be over before these words, or after them
  held.house.desk.hear("");
  held.go_on();
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "cancelled");
  EXPECT_EQ(text_of(talk.ask("three")), "You said: one\nthree. Go on!");
}

TEST(RealtimeListening, AnAnswerWhoseSoundNobodyHeardIsGivenAgain) {
  ListeningHouse house;
  house.host.offer.voice = &house.voice;
  house.num_chunks = 0;
  Talk talk(house);
  talk.say("one");
  talk.respond();
  talk.client.next("response.output_audio_transcript.delta");
  speak(talk);
  house.desk.hear("two");
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "cancelled");
  house.desk.hear("two three");
  settle(house, "<user>one\ntwo three<end>");
}

TEST(RealtimeListening, APresetThatWaitsForPausesDraftsInThem) {
  ListeningHouse house;
  house.host.session.turn.waits_for_pauses = true;
  house.host.session.pauses.add(Seconds(1), Seconds(0));
  Talk talk(house);
  speak(talk);
  house.desk.hear("find me");
  house.desk.hear("find me a");
  house.desk.hear("find me a", /*is_over=*/true);
  settle(house, "<user>find me a<end>");
  EXPECT_FALSE(house.was_asked("", "<user>find me<end>"));
}

TEST(RealtimeListening, AFailureIsToldAndTextGoesOn) {
  ListeningHouse house;
  Talk talk(house);
  use_commits(talk);
  speak(talk);
  talk.send({{"type", "input_audio_buffer.commit"}});
  talk.respond();
  house.desk.handler->on_failure("has gone away: End of file");
  const Json error = talk.client.next();
  EXPECT_EQ(error["error"]["code"], "recogniser_failed");
  EXPECT_EQ(error["error"]["message"],
            "the recogniser has gone away: End of file; what was said since the last turn is lost");
  EXPECT_EQ(text_of(talk.ask("one")), "You said: one. Go on!");
  for (const char* type : {"append", "append", "commit"}) {
    Json event{{"type", std::string("input_audio_buffer.") + type}};
    if (type == std::string("append")) event["audio"] = "AAA=AAA=";
    talk.send(event);
    EXPECT_EQ(talk.error_code(),
              type == std::string("append") ? "invalid_value" : "input_audio_buffer_commit_empty");
  }
  talk.send({{"type", "input_audio_buffer.append"}});
  EXPECT_EQ(talk.error_code(), "missing_required_parameter");
}

}  // namespace
}  // namespace predgen::serve
