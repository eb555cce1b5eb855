#include "serve/wyoming/wyoming_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <semaphore>
#include <thread>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/waiting.h"
#include "tests/serve/wyoming/visit.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> types_of(const std::vector<WyomingEvent>& events) {
  std::vector<std::string> types;
  for (const WyomingEvent& event : events) {
    if (types.empty() || types.back() != event.type) types.push_back(event.type);
  }
  return types;
}

Json in(const std::string& conversation) {
  return {{"context", {{"conversation_id", conversation}, {"satellite_id", "kitchen"}}}};
}

/// The house's next pass, which goes on when it may.
struct HeldPass {
  explicit HeldPass(House& house) {
    house.on_pass = [this] {
      if (!std::exchange(is_next, false)) return;
      is_running.release();
      may_go_on.acquire();
    };
  }

  std::binary_semaphore is_running{0}, may_go_on{0};
  bool is_next = true;
};

TEST(WyomingClient, SaysWhatThereIs) {
  House house;
  Service service(house);
  Visit visit(service);
  visit.send("describe");
  const WyomingEvent info = visit.client.next();
  EXPECT_EQ(info.type, "info");
  EXPECT_EQ(info.data["handle"][0]["models"][0]["name"], "m");
  EXPECT_EQ(info.data["handle"][0]["models"][0]["languages"], Json::array({"en"}));
  const Json& voices = info.data["tts"][0]["voices"];
  ASSERT_EQ(voices.size(), 2u);
  EXPECT_EQ(voices[0]["name"], "anna");
  EXPECT_EQ(voices[0]["languages"], Json::array({"en"}));
  EXPECT_EQ(voices[1]["name"], "otto");
  EXPECT_TRUE(info.data["asr"].empty());
  visit.send("ping", {{"text", "x"}});
  EXPECT_EQ(visit.client.next().data, (Json{{"text", "x"}}));
  visit.send("satellite-connected");  // which nobody here knows
  EXPECT_EQ(visit.client.num_unread(), 0u);
}

TEST(WyomingClient, ATranscriptIsAnswered) {
  House house;
  Service service(house);
  Visit visit(service);
  Json transcript = in("c");
  transcript["text"] = "one";
  visit.send("transcript", transcript);
  const auto events = visit.client.until("handled-stop");
  EXPECT_THAT(types_of(events),
              ElementsAre("handled-start", "handled-chunk", "handled", "handled-stop"));
  std::string text;
  for (const WyomingEvent& event : events) {
    if (event.type == "handled-chunk") text += event.data["text"];
  }
  EXPECT_EQ(text, "You said: one. Go on!");
  EXPECT_EQ(events.front().data, in("c"));
  EXPECT_EQ(events[events.size() - 2].data["text"], text);
  EXPECT_EQ(events[events.size() - 2].data["context"], in("c")["context"]);
}

TEST(WyomingClient, AConversationGoesOnOverOtherConnections) {
  House house;
  Service service(house);
  {
    Visit first(service);
    first.say("one", "c");
    EXPECT_EQ(first.answer(), "You said: one. Go on!");
  }
  Visit other(service), second(service);
  other.say("two", "d");
  EXPECT_EQ(other.answer(), "You said: two. Go on!");
  EXPECT_THAT(house.last_prompt(), testing::Not(HasSubstr("one")));
  second.say("three", "c");
  EXPECT_EQ(second.answer(), "You said: three. Go on!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!"));
  second.say("four", "d");  // on the same connection
  EXPECT_EQ(second.answer(), "You said: four. Go on!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: two. Go on!"));
}

TEST(WyomingClient, AnotherAddressHasConversationsOfItsOwn) {
  House house;
  Service service(house);
  Visit mine(service, "10.0.0.1"), other(service, "10.0.0.2");
  mine.say("one", "kitchen");
  EXPECT_EQ(mine.answer(), "You said: one. Go on!");
  other.say("two", "kitchen");
  EXPECT_EQ(other.answer(), "You said: two. Go on!");
  EXPECT_THAT(house.last_prompt(), testing::Not(HasSubstr("one")));
  mine.say("three", "kitchen");
  EXPECT_EQ(mine.answer(), "You said: three. Go on!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!"));
  EXPECT_THAT(house.last_prompt(), testing::Not(HasSubstr("two")));
}

TEST(WyomingClient, WhoGivesNoIdIsToldOne) {
  House house;
  Service service(house);
  Visit visit(service);
  visit.send("transcript", {{"text", "one"}});
  const Json context = visit.client.until("handled").back().data["context"];
  EXPECT_THAT(context["conversation_id"].get<std::string>(), StartsWith("conv_"));
  visit.send("transcript", {{"text", "two"}, {"context", context}});
  visit.answer();
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!"));
}

TEST(WyomingClient, WordsAreDraftedOnAsTheyCome) {
  House house;
  house.answer = [](const std::string& user) {
    return "Yes I can. It is " + user.substr(user.rfind(' ') + 1) + "!";
  };
  Service service(house);
  Visit visit(service);
  visit.send("transcript-start", in("c"));
  visit.send("transcript-chunk", {{"text", "a table"}});
  visit.send("transcript-chunk", {{"text", " for"}});
  settle(house, "a table for<end><assistant>Yes I can.");
  EXPECT_EQ(visit.client.num_unread(), 0u) << "nothing of a draft leaves before the turn's end";
  visit.send("transcript", {{"text", "a table for two"}});
  EXPECT_EQ(visit.answer(), "Yes I can. It is two!");
  EXPECT_EQ(visit.client.next().type, "handled-stop");
  EXPECT_THAT(house.metrics.text({}), HasSubstr("predgen_kept_first_sentences_total 1\n"));
  visit.send("transcript-stop");
  EXPECT_EQ(visit.client.num_unread(), 0u);
}

TEST(WyomingClient, TheStopEndsATurnWithoutItsTranscript) {
  House house;
  Service service(house);
  Visit visit(service);
  visit.send("transcript-start");
  visit.send("transcript-chunk", {{"text", "one"}});
  visit.send("transcript-stop");
  EXPECT_EQ(visit.answer(), "You said: one. Go on!");
  EXPECT_EQ(visit.client.next().type, "handled-stop");
  visit.send("transcript-start");
  visit.send("transcript-chunk", {{"text", "lost"}});
  visit.send("transcript-start");  // anew
  visit.send("transcript-chunk", {{"text", "two"}});
  visit.send("transcript-stop");
  EXPECT_EQ(visit.answer(), "You said: two. Go on!");
}

TEST(WyomingClient, ATurnThatIsTooLongIsNotHandledOnce) {
  House house;
  Service service(house);
  Visit visit(service);
  const Json context{{"conversation_id", "a"}};
  visit.send("transcript-start", {{"context", context}});
  for (int i = 0; i < 3; ++i) visit.send("transcript-chunk", {{"text", std::string(40'000, 'a')}});
  visit.send("transcript", {{"text", "aaa"}, {"context", context}});
  visit.send("transcript-stop");
  EXPECT_THAT(visit.answer(), HasSubstr("?the turn's text has more than 65536 bytes"));
  visit.say("one", "a");
  EXPECT_EQ(visit.answer(), "You said: one. Go on!");
}

TEST(WyomingClient, NothingSaidIsNotHandled) {
  House house;
  Service service(house);
  Visit visit(service);
  visit.say(" ", "c");
  EXPECT_THAT(visit.answer(), StartsWith("?"));
  visit.say("one", "c");
  EXPECT_EQ(visit.answer(), "You said: one. Go on!");
}

TEST(WyomingClient, ATurnAtATime) {
  House house;
  Service service(house);
  Visit first(service), second(service);
  first.send("transcript-start", in("c"));
  second.say("two", "c");
  EXPECT_THAT(second.answer(), HasSubstr("another turn"));
  second.send("transcript-start", in("c"));
  EXPECT_THAT(second.answer(), HasSubstr("another turn"));
  second.send("transcript-chunk", {{"text", "two"}});
  second.send("transcript", {{"text", "two"}});
  second.send("transcript-stop");
  EXPECT_EQ(second.client.num_unread(), 0u) << "it is told once";
  first.leave();
  second.say("two", "c");
  EXPECT_EQ(second.answer(), "You said: two. Go on!");
}

TEST(WyomingClient, ConversationsHaveALimitAndTheOldestMakesRoom) {
  House house;
  Service service(house, /*max_conversations=*/1);
  Visit first(service), second(service);
  first.say("one", "c");
  first.answer();
  second.send("transcript-start", in("d"));
  first.say("three", "c");
  EXPECT_THAT(first.answer(), HasSubstr("limit"));
  second.send("transcript", {{"text", "two"}});
  EXPECT_EQ(second.answer(), "You said: two. Go on!");
  first.say("three", "c");
  EXPECT_EQ(first.answer(), "You said: three. Go on!");
  EXPECT_THAT(house.last_prompt(), testing::Not(HasSubstr("You said: one"))) << "forgotten";
}

TEST(WyomingClient, OneAddressLeavesConversationsToOthers) {
  House house;
  Service service(house, /*max_conversations=*/4);
  std::list<Visit> visits;
  for (const char* id : {"a", "b", "c"}) {
    visits.emplace_back(service).send("transcript-start", in(id));
  }
  Visit fourth(service);
  fourth.say("four", "d");
  EXPECT_THAT(fourth.answer(), HasSubstr("3 of yours"));
  visits.pop_back();
  fourth.say("four", "d");
  EXPECT_EQ(fourth.answer(), "You said: four. Go on!");
}

TEST(WyomingClient, AConversationIsForgottenAfterALongSilence) {
  House house;
  Service service(house);
  Visit visit(service);
  visit.say("one", "c");
  visit.answer();
  const int64_t held = house.num_positions();
  house.clock.set(601);
  visit.say("two", "d");
  visit.answer();
  EXPECT_LE(house.num_positions(), held);
}

TEST(WyomingClient, AnAnswerEndsWhenItsClientLeaves) {
  House house;
  house.answer = [](const std::string& user) {
    std::string text = user + " is";
    for (int i = 0; i < 50; ++i) text += " more";
    return text + ".";
  };
  std::binary_semaphore has_begun(0);
  int num_passes = 0;
  house.on_pass = [&] {
    if (++num_passes == 5) has_begun.release();
    // All of them would take longer than leaving does.
    if (num_passes >= 5) take(std::chrono::milliseconds(20));
  };
  Service service(house);
  Visit first(service), second(service);
  first.say("one", "c");
  has_begun.acquire();
  first.leave();
  {
    const EngineLock::Hold hold(house.engine_lock);
    EXPECT_LT(num_passes, 40);
    house.on_pass = {};
  }
  second.say("two", "c");
  EXPECT_THAT(second.answer(), StartsWith("two is more"));
}

TEST(WyomingClient, WhoAsksWhileAClientLeavesWaitsForThat) {
  House house;
  HeldPass pass(house);
  FakeWyomingSender gone, next;
  Service service(house);
  const auto client_of = [](FakeWyomingSender& sender) {
    return WyomingConversation::Client{.sender = &sender, .on_end = [] {}, .on_done = [] {}};
  };
  const auto conversation = service.conversations.enter("c", client_of(gone));
  conversation->hear({.text = "one", .is_final = true});
  pass.is_running.acquire();
  std::jthread leaving([&] { conversation->leave(gone); });
  EXPECT_TRUE(comes_true([&] { return conversation->is_leaving(); }));
  std::jthread asking([&] {
    service.conversations.enter("c", client_of(next))->hear({.text = "two", .is_final = true});
  });
  pass.may_go_on.release();
  EXPECT_EQ(next.until("handled").back().data["text"], "You said: two. Go on!");
}

TEST(WyomingClient, WhoNamesNoConversationTakesNoPlaceOfThoseThatAreNamed) {
  House house;
  Service service(house, /*max_conversations=*/2);
  Visit visit(service);
  visit.say("one", "c");
  visit.answer();
  for (int i = 0; i < 3; ++i) {
    visit.send("transcript", {{"text", "two"}});
    visit.answer();
  }
  visit.say("three", "c");
  visit.answer();
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!"));
}

TEST(WyomingClient, WhatFailsIsNotHandledAndTellsNoSecret) {
  House house(/*has_voice=*/false, /*context=*/64);
  Service service(house);
  Visit visit(service);
  visit.say(std::string(300, 'x'), "c");
  EXPECT_THAT(visit.answer(), StartsWith("?"));
  house.on_pass = [] { throw Error("secret path"); };
  visit.say("one", "d");
  EXPECT_EQ(visit.answer(), "?the server failed; its log says more");
}

TEST(WyomingClient, AConversationThatCannotGoOnKeepsNobodyWaiting) {
  House house;
  Service service(house);
  const std::string verifier = std::exchange(house.host.session.verifier.name, "hope");
  for (int i = 0; i < 20; ++i) {  // it breaks before the words, between them, or after them
    Visit visit(service);
    visit.send("transcript-start", in("c"));
    if (i % 2 > 0) take(std::chrono::milliseconds(1));
    visit.send("transcript-chunk", {{"text", "one"}});
    visit.send("transcript-stop");
    EXPECT_EQ(visit.answer(), "?the server failed; its log says more");
    visit.served->drain();
    EXPECT_EQ(visit.client.next().type, "closed");
  }
  house.host.session.verifier.name = verifier;
  Visit visit(service);
  visit.say("one", "c");
  EXPECT_EQ(visit.answer(), "You said: one. Go on!");
}

TEST(WyomingClient, ATextIsSpoken) {
  House house(/*has_voice=*/true);
  Service service(house);
  Visit visit(service);
  visit.send("synthesize", {{"text", "One. Two."}, {"voice", {{"name", "otto"}}}});
  const auto events = visit.client.until("audio-stop");
  EXPECT_THAT(types_of(events), ElementsAre("audio-start", "audio-chunk", "audio-stop"));
  EXPECT_EQ(house.voices.back(), "otto");
  size_t bytes = 0;
  for (const WyomingEvent& event : events) bytes += event.payload.size();
  EXPECT_EQ(bytes, 2 * RealtimeVoice::kChunksPerSentence * RealtimeVoice::kChunk * 2);
  EXPECT_EQ(events.front().data,
            (Json{{"rate", kRealtimeRate}, {"width", 2}, {"channels", 1}, {"timestamp", 0}}));
  visit.send("synthesize", {{"text", "One."}, {"voice", {{"language", "en"}}}});
  visit.client.until("audio-stop");
  EXPECT_EQ(house.voices.back(), "anna") << "the first of that language";
  visit.send("synthesize", {{"text", "*"}});  // nothing to say
  EXPECT_THAT(types_of(visit.client.until("audio-stop")), ElementsAre("audio-start", "audio-stop"));
}

TEST(WyomingClient, ATextIsSpokenAsItComes) {
  House house(/*has_voice=*/true);
  Service service(house);
  Visit visit(service);
  visit.send("synthesize-start");
  visit.send("synthesize-chunk", {{"text", "One is"}});
  visit.send("synthesize-chunk", {{"text", " said. Tw"}});
  std::vector<WyomingEvent> events;
  for (size_t i = 0; i <= RealtimeVoice::kChunksPerSentence; ++i) {
    events.push_back(visit.client.next());
  }
  EXPECT_THAT(types_of(events), ElementsAre("audio-start", "audio-chunk"));
  visit.send("synthesize-chunk", {{"text", "o"}});
  visit.send("synthesize", {{"text", "One is said. Two"}});  // for others
  EXPECT_EQ(visit.client.num_unread(), 0u);
  visit.send("synthesize-stop");
  EXPECT_THAT(types_of(visit.client.until("synthesize-stopped")),
              ElementsAre("audio-chunk", "audio-stop", "synthesize-stopped"));
}

TEST(WyomingClient, ThoughtsAreNotSpoken) {
  House house(/*has_voice=*/true);
  Service service(house);
  Visit visit(service);
  const auto sound_of = [&] {
    size_t bytes = 0;
    for (const WyomingEvent& event : visit.client.until("audio-stop"))
      bytes += event.payload.size();
    return bytes;
  };
  visit.send("synthesize", {{"text", "One."}});
  const size_t one = sound_of();
  visit.send("synthesize", {{"text", "<think>A. B.\nC.</think>\nOne."}});
  EXPECT_EQ(sound_of(), one);
  visit.send("synthesize-start");
  for (const char* chunk : {"<thi", "nk>A. B", ".\nC.</th", "ink>\nOn", "e."}) {
    visit.send("synthesize-chunk", {{"text", chunk}});
  }
  visit.send("synthesize-stop");
  EXPECT_EQ(sound_of(), one);
}

TEST(WyomingClient, AVoiceThatDoesNotExistOrFailsEndsTheConnection) {
  House house(/*has_voice=*/true);
  house.broken_sentence = "Break.";
  Service service(house);
  for (const auto& [data, text] : std::vector<std::pair<Json, std::string>>{
           {{{"text", "a"}, {"voice", {{"name", "nobody"}}}},
            "there is no voice 'nobody' here: choose one of anna, otto"},
           {{{"text", "a"}, {"voice", {{"language", "xx"}}}},
            "there is no voice 'xx' here: choose one of anna, otto"},
           {{{"text", "Break."}}, "the server failed; its log says more"}}) {
    Visit visit(service);
    visit.send("synthesize", data);
    const auto events = visit.client.until("closed");
    ASSERT_GE(events.size(), 2u);
    EXPECT_EQ(events[events.size() - 2].data["text"], text);
  }
}

TEST(WyomingClient, TextsWithoutWordsTakeRoomToo) {
  House house(/*has_voice=*/true);
  house.num_chunks = 0;  // it is never done with the first one
  Service service(house);
  service.host.limits.message_bytes = 1000;
  Visit visit(service);
  visit.send("synthesize", {{"text", "One."}});
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) {
      visit.send("synthesize-start");
      visit.send("synthesize-stop");
    }
  };
  expect_user_error(fill, {"1000 bytes"});
}

TEST(WyomingClient, RoomIsFreeAgainWhenATextWasSpoken) {
  House house(/*has_voice=*/true);
  Service service(house);
  service.host.limits.message_bytes = 300;
  Visit visit(service);
  for (int i = 0; i < 20; ++i) {
    visit.send("synthesize", {{"text", "One."}});
    visit.client.until("audio-stop");
  }
}

TEST(WyomingClient, AConversationIsForgottenAfterItsTime) {
  House house;
  Service service(house);
  Visit visit(service);
  visit.say("one", "c");
  EXPECT_EQ(visit.answer(), "You said: one. Go on!");
  house.clock.set(590);
  visit.say("two", "c");
  EXPECT_EQ(visit.answer(), "You said: two. Go on!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!"));
  house.clock.set(590 + 601);
  visit.say("three", "c");
  EXPECT_EQ(visit.answer(), "You said: three. Go on!");
  EXPECT_THAT(house.last_prompt(), testing::Not(HasSubstr("You said: two. Go on!")));
}

TEST(WyomingClient, EventsOfAnotherShapeAreNamed) {
  House house(/*has_voice=*/true);
  Service service(house);
  service.host.limits.message_bytes = 300;
  const auto refused = [&](const char* type, const Json& data,
                           const std::vector<std::string>& parts) {
    Visit visit(service);
    expect_user_error([&] { visit.send(type, data); }, parts);
  };
  refused("transcript", Json::object(), {"text", "missing"});
  refused("transcript", {{"text", 3}}, {"text"});
  refused("transcript", {{"text", "a"}, {"context", 3}}, {"context", "object"});
  refused("transcript", {{"text", "a"}, {"context", {{"conversation_id", 3}}}},
          {"conversation_id"});
  refused("transcript", {{"text", "a"}, {"context", {{"conversation_id", std::string(257, 'x')}}}},
          {"conversation_id", "256"});
  refused("transcript-chunk", {{"text", "a"}}, {"transcript-start"});
  refused("synthesize", Json::object(), {"text"});
  refused("synthesize", {{"text", std::string(301, 'x')}}, {"300"});
  refused("synthesize", {{"text", "a"}, {"text_format", "ssml"}}, {"text_format", "ssml"});
  refused("synthesize", {{"text", "a"}, {"voice", {{"name", "anna"}, {"speaker", "x"}}}},
          {"speaker"});
  refused("synthesize-chunk", {{"text", "a"}}, {"synthesize-start"});
  refused("synthesize-stop", Json::object(), {"synthesize-start"});
  refused("recognize", Json::object(), {"by Wyoming", "asr, handle and tts"});
  refused("transcribe", Json::object(), {"no recogniser", "--recogniser"});
  refused("audio-start", Json::object(), {"no recogniser"});
  Visit visit(service);
  visit.send("synthesize-start");
  expect_user_error([&] { visit.send("synthesize-start"); }, {"synthesize-start"});
  visit.send("transcript-start");
  visit.send("transcript-chunk", {{"text", std::string(300, 'x')}});
  expect_user_error([&] { visit.send("transcript-chunk", {{"text", "x"}}); }, {"300"});
  service.host.offer.voice = nullptr;
  refused("synthesize", {{"text", "a"}}, {"--tts"});
}

TEST(WyomingClient, DrainedItEndsAfterWhatIsUnderWay) {
  House house(/*has_voice=*/true);
  house.host.offer.voice = nullptr;
  Service service(house);
  Visit idle(service), asking(service), speaking(service);
  idle.served->drain();
  EXPECT_EQ(idle.client.next().type, "closed");
  speaking.send("synthesize-start");
  speaking.served->drain();
  EXPECT_EQ(speaking.client.next().type, "audio-start");
  speaking.send("synthesize-stop");
  EXPECT_THAT(types_of(speaking.client.until("closed")),
              ElementsAre("audio-stop", "synthesize-stopped", "closed"));
  HeldPass pass(house);
  asking.say("one", "c");
  pass.is_running.acquire();
  asking.served->drain();
  EXPECT_EQ(asking.client.num_unread(), 0u);
  pass.may_go_on.release();
  EXPECT_EQ(asking.answer(), "You said: one. Go on!");
  EXPECT_EQ(asking.client.until("closed").size(), 2u);
}

}  // namespace
}  // namespace predgen::serve
