#include "serve/wyoming/wyoming_hearing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/serve/wyoming/visit.h"

namespace predgen::serve {
namespace {

using testing::HasSubstr;

const Json kFormat{{"rate", 16000}, {"width", 2}, {"channels", 1}};

struct HearingHouse : House {
  HearingHouse() {
    host.make_recogniser = desk.make;
    host.offer.has_recogniser = true;
    answer = [](const std::string& user) {
      return "Yes I can. It is " + user.substr(user.rfind(' ') + 1) + "!";
    };
  }
  RecogniserDesk desk;
};

/// A recogniser that is no longer the last one that was made.
struct EarlierDesk {
  explicit EarlierDesk(RecogniserDesk& at) : handler(at.handler), utterance(at.utterance) {}
  void hear(const std::string& text, bool is_over) {
    handler->on_segment(utterance, {.text = text, .is_over = is_over});
  }
  RecogniserHandler* const handler;
  const int64_t utterance;
};

/// A client that asks for transcripts, as Home Assistant does: one for each connection.
struct Ear : Visit {
  Ear(HearingHouse& at, Service& service, const std::string& peer = "")
      : Visit(service, peer), house(at) {
    house.desk.utterance = 0;  // of a recogniser of its own
    send("transcribe", {{"language", "en-GB"}});
    send("audio-start", kFormat);
    send_sound(500);
  }
  /// What was heard at the end of the sound.
  std::string end(const std::string& words) {
    send("audio-stop");
    house.desk.hear(words, /*is_over=*/true);
    house.desk.end();
    return client.until("transcript").back().data["text"];
  }
  /// The same, where words were heard.
  std::string end_at(EarlierDesk& desk) {
    send("audio-stop");
    desk.handler->on_end(desk.utterance);
    return client.until("transcript").back().data["text"];
  }
  HearingHouse& house;
};

/// Whether the model saw these words of a user in a text that has `other`, too.
bool saw_together(House& house, const std::string& words, const std::string& other) {
  const EngineLock::Hold hold(house.engine_lock);
  return std::ranges::any_of(house.prompts, [&](const std::string& prompt) {
    return prompt.find("<user>" + words) != std::string::npos &&
           prompt.find("<user>" + other) != std::string::npos;
  });
}

bool keeps_draft(House& house) {
  return house.metrics.text({}).find("predgen_kept_first_sentences_total 1\n") != std::string::npos;
}

TEST(WyomingHearing, IsDescribed) {
  HearingHouse house;
  Service service(house);
  Visit visit(service);
  visit.send("describe");
  const Json asr = visit.client.next().data["asr"][0];
  EXPECT_EQ(asr["models"][0]["languages"], Json::array({"en"}));
  EXPECT_EQ(asr["installed"], true);
}

TEST(WyomingHearing, BeginsTheTurnThatTheTranscriptAsksFor) {
  HearingHouse house;
  Service service(house);
  {
    Ear ear(house, service);
    house.desk.hear("a table for");
    settle(house, "a table for<end><assistant>Yes I can.");
    EXPECT_EQ(ear.client.num_unread(), 0u) << "words may still change";
    EXPECT_EQ(ear.end("a table for two"), "a table for two");
  }
  Visit asking(service);
  asking.say("A table for two.", "c");  // as Home Assistant hands it back, or nearly
  EXPECT_EQ(asking.answer(), "Yes I can. It is two.!");
  EXPECT_TRUE(keeps_draft(house));
  asking.say("and then three", "c");
  asking.answer();
  EXPECT_THAT(house.last_prompt(), HasSubstr("A table for two."));
}

TEST(WyomingHearing, GoesOnInTheConversationThatWasUsedLast) {
  HearingHouse house;
  Service service(house);
  Visit first(service);
  first.say("one", "c");
  first.answer();
  Ear(house, service).end("a table for two");
  settle(house, "a table for two<end><assistant>Yes I can.");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<user>one"));
  Visit second(service);
  second.say("a table for two", "c");
  EXPECT_EQ(second.answer(), "Yes I can. It is two!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<user>one"));
}

TEST(WyomingHearing, BeginsAnewIfItsClientDoesSoEachTime) {
  HearingHouse house;
  Service service(house, /*max_conversations=*/3);
  const std::vector<std::string> words{"one", "two", "three", "four", "five"};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string last = "a table for " + words[i];
    Ear(house, service).end(last);
    settle(house, last + "<end><assistant>Yes I can.");
    // The second one may still be of the first one's conversation.
    EXPECT_EQ(saw_together(house, last, "a table for one"), i <= 1) << last;
    Visit visit(service);
    visit.say(last, "c" + words[i]);
    visit.answer();
    // The second one's draft was for the first one's conversation.
    const std::string kept = fmt::format("predgen_kept_first_sentences_total {}\n", i == 0 ? 1 : i);
    EXPECT_THAT(house.metrics.text({}), HasSubstr(kept));
  }
  Visit visit(service);
  visit.say("and six", "cfive");  // now it has gone on
  visit.answer();
  Ear(house, service).end("seven");
  settle(house, "seven<end><assistant>Yes I can.");
  EXPECT_TRUE(saw_together(house, "seven", "and six"));
}

TEST(WyomingHearing, IsNotMixedUpWithOtherTurns) {
  HearingHouse house;
  Service service(house);
  Visit first(service);
  first.say("one", "c");
  first.answer();
  // Other words in that conversation, the same ones in another, and those of another address.
  Ear speaking(house, service);
  house.desk.hear("two");
  first.say("three", "c");
  EXPECT_EQ(first.answer(), "Yes I can. It is three!");
  EXPECT_EQ(speaking.end("two it is"), "two it is");
  first.say("three more", "c");
  EXPECT_EQ(first.answer(), "Yes I can. It is more!");
  EXPECT_FALSE(saw_together(house, "two", "three"));
  Ear(house, service).end("four");
  Visit other(service), stranger(service, "10.0.0.9");
  other.say("four", "d");
  EXPECT_EQ(other.answer(), "Yes I can. It is four!");
  EXPECT_TRUE(house.was_asked("<user>four", "<assistant>")) << "without a history";
  Ear(house, service).end("five");
  stranger.say("five", "c");
  EXPECT_EQ(stranger.answer(), "Yes I can. It is five!");
  EXPECT_TRUE(house.was_asked("<user>five", "<assistant>"));
  first.say("six", "c");
  EXPECT_EQ(first.answer(), "Yes I can. It is six!");
  EXPECT_FALSE(saw_together(house, "five", "six"));
}

TEST(WyomingHearing, WordsGoToNoLaterTurnOfTheSameConversation) {
  HearingHouse house;
  Service service(house);
  Visit asking(service);
  asking.say("one", "c");
  asking.answer();
  Ear first(house, service);
  EarlierDesk before(house.desk);
  asking.say("typed", "c");  // which gives up what is heard
  asking.answer();
  Ear second(house, service);
  house.desk.hear("beta");
  settle(house, "beta<end><assistant>Yes I can.");
  before.hear("alpha", /*is_over=*/true);
  EXPECT_EQ(first.end_at(before), "alpha");
  EXPECT_EQ(second.end("beta"), "beta");
  EXPECT_FALSE(saw_together(house, "alpha", "typed"));
  asking.say("alpha", "c");  // which is not what waits there
  EXPECT_EQ(asking.answer(), "Yes I can. It is alpha!");
}

TEST(WyomingHearing, ATurnThatNobodyHasAskedForGivesWayAtOnce) {
  HearingHouse house;
  Service service(house, /*max_conversations=*/1);
  Ear(house, service).end("two");  // a rule of Home Assistant's did it
  Visit visit(service);
  visit.say("one", "c");
  EXPECT_EQ(visit.answer(), "Yes I can. It is one!");
  { Ear speaking(house, service); }
  Ear speaking(house, service);
  house.desk.hear("three");
  visit.say("four", "d");  // another conversation, which the sound gives way to
  EXPECT_EQ(visit.answer(), "Yes I can. It is four!");
  EXPECT_EQ(speaking.end("three"), "three");
  // Without a place for a draft it is heard all the same.
  visit.send("transcript-start", {{"context", {{"conversation_id", "d"}}}});
  EXPECT_EQ(Ear(house, service).end("four"), "four");
}

TEST(WyomingHearing, TakesNoPlaceOfAConversationThatMayGoOn) {
  HearingHouse house;
  Service service(house, /*max_conversations=*/2);
  Visit visit(service);
  visit.say("one", "c");
  visit.answer();
  Ear(house, service, "10.0.0.9").end("two");
  visit.say("three", "d");  // in place of what was only heard
  visit.answer();
  Ear(house, service, "10.0.0.9").end("four");  // for which there is no place
  visit.say("five", "c");
  EXPECT_EQ(visit.answer(), "Yes I can. It is five!");
  EXPECT_TRUE(saw_together(house, "five", "one"));
  house.clock.set(301);
  visit.say("six", "c");
  visit.answer();
  Ear(house, service, "10.0.0.9").end("seven");
  settle(house, "seven<end><assistant>Yes I can.");
}

TEST(WyomingHearing, ATurnThatWaitsInVainIsGivenUpWithoutANextOne) {
  HearingHouse house;
  Service service(house);
  Ear(house, service).end("two");
  const auto is_spoken = [&] {
    return house.metrics.text({}).find("predgen_speaking_conversations 1\n") != std::string::npos;
  };
  EXPECT_TRUE(is_spoken());
  house.clock.set(11);
  EXPECT_TRUE(comes_true([&] { return !is_spoken(); }));
}

TEST(WyomingHearing, TurnsOfOneConnectionKeepTheirOrderAtAnyRate) {
  HearingHouse house;
  Service service(house);
  Ear ear(house, service);
  ear.send("audio-stop");
  Json other = kFormat;
  other["rate"] = 48000;
  ear.send("audio-start", other);  // before the transcript of the first
  ear.send_sound(1000);
  house.desk.hear("one", /*is_over=*/true);
  house.desk.end();
  EXPECT_EQ(ear.client.until("transcript").back().data["text"], "one");
  EXPECT_EQ(ear.end("two"), "two");
  // Perhaps the draft for "one" goes on after it.
  EXPECT_TRUE(comes_true([&] { return house.was_asked("", "two<end><assistant>Yes I can."); }));
  Visit asking(service);
  asking.say("two", "c");
  EXPECT_EQ(asking.answer(), "Yes I can. It is two!");
  EXPECT_TRUE(keeps_draft(house));
  ear.served->drain();
  EXPECT_EQ(ear.client.next().type, "closed") << "no transcript is due";
}

TEST(WyomingHearing, NothingHeardIsAnEmptyTranscript) {
  HearingHouse house;
  Service service(house, /*max_conversations=*/1);
  EXPECT_EQ(Ear(house, service).end(""), "");
  Visit brief(service);
  brief.send("audio-start", kFormat);
  house.desk.utterance = 0;
  brief.send("audio-stop");
  house.desk.end();
  EXPECT_EQ(brief.client.until("transcript").back().data["text"], "");
  { Ear gone(house, service); }
  brief.say("one", "c");
  EXPECT_EQ(brief.answer(), "Yes I can. It is one!");
}

TEST(WyomingHearing, RefusesWhatCannotBeHeard) {
  HearingHouse house;
  Service service(house);
  const auto refused = [&](const char* type, const Json& data, const std::string& part) {
    Visit visit(service);
    expect_user_error([&] { visit.send(type, data); }, {part});
  };
  refused("transcribe", {{"language", "de"}}, "--language");
  refused("audio-start", {{"rate", 16000}, {"width", 4}, {"channels", 1}}, "16 bits");
  refused("audio-start", {{"rate", 1}, {"width", 2}, {"channels", 1}}, "8000");
  refused("audio-start", {{"rate", 16000}}, "width");
  refused("audio-stop", Json::object(), "audio-start");
  Visit visit(service);
  expect_user_error([&] { visit.send_sound(20); }, {"audio-start"});
}

TEST(WyomingHearing, AFailureIsToldAndTheConnectionEnds) {
  HearingHouse house;
  Service service(house);
  Ear ear(house, service);
  house.desk.handler->on_failure("has ended");
  EXPECT_THAT(ear.client.until("error").back().data["text"].get<std::string>(),
              HasSubstr("recogniser"));
  EXPECT_EQ(ear.client.next().type, "closed");
}

}  // namespace
}  // namespace predgen::serve
