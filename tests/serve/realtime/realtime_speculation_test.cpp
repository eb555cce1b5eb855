#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The last word decides the answer's second sentence only.
std::string mostly_the_same(const std::string& user) {
  return "Yes I can. It is " + user.substr(user.rfind(' ') + 1) + "!";
}

Json wanting(const std::vector<std::string>& events) { return {{"predgen", {{"events", events}}}}; }

TEST(RealtimeSpeculation, NothingOfADraftLeavesBeforeTheTurnEnds) {
  House house;
  house.answer = mostly_the_same;
  Talk talk(house);
  talk.hear("a table for");
  settle(house, "I can.");
  talk.hear("a table for two");
  settle(house, "for two<end><assistant>Yes I can");
  EXPECT_EQ(talk.client.num_unread(), 0u);
  talk.hear("a table for three", /*end_of_turn=*/true);
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_THAT(types_of(events), Not(Contains(StartsWith("predgen."))));
  EXPECT_EQ(events[0]["item"]["content"][0]["text"], "a table for three");
  EXPECT_EQ(text_of(events.back()["response"]), "Yes I can. It is three!");
  EXPECT_THAT(house.metrics.text({}), HasSubstr("predgen_kept_first_sentences_total 1\n"));
}

TEST(RealtimeSpeculation, MessagesOfSpeechServicesAreHeardAsTheyCome) {
  House house;
  house.answer = mostly_the_same;
  Talk talk(house);
  const auto flux = [&](const char* event, const char* transcript) {
    talk.send({{"type", "TurnInfo"}, {"event", event}, {"transcript", transcript}});
  };
  flux("Update", "a table for");
  settle(house, "a table for<end>");
  EXPECT_EQ(talk.client.num_unread(), 0u);
  flux("EndOfTurn", "a table for two");
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "Yes I can. It is two!");
  talk.send({{"text", "play some music"}, {"segment", 0}, {"is_final", true}});
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "Yes I can. It is music!");
  talk.connection.on_text("Done!");  // which sherpa-onnx ends with
  talk.send({{"type", "TurnInfo"}, {"event", "EndOfTurn"}});
  EXPECT_EQ(talk.error_code(), "invalid_value");
  talk.send({{"type", "Turned"}});
  EXPECT_EQ(talk.error_code(), "unknown_event");
}

TEST(RealtimeSpeculation, TheTextIsThatOfAPlainRequest) {
  House house;
  house.answer = mostly_the_same;
  Talk plain(house), drafted(house);
  drafted.hear("play");
  drafted.hear("play some musik");
  drafted.hear("play some music", /*end_of_turn=*/true);
  EXPECT_EQ(text_of(drafted.client.next("response.done")["response"]),
            text_of(plain.ask("play some music")));
}

TEST(RealtimeSpeculation, ShowsItselfToWhoAsks) {
  House house;
  house.answer = mostly_the_same;
  Talk talk(house);
  talk.update(wanting({"speculation", "sentence", "metrics"}));
  talk.hear("a table for two");
  const Json ready = talk.client.next("predgen.sentence.ready");
  EXPECT_EQ(ready["text"], "Yes I can.");
  talk.hear("a table for three");
  Json draft;
  do {
    draft = talk.client.next("predgen.speculation.draft");
  } while (draft["transcript"] != "a table for three");
  EXPECT_THAT(draft["kept"].get<std::string>(), StartsWith("Yes I can."));
  talk.hear("a table for four", /*end_of_turn=*/true);
  const std::vector<Json> events = talk.client.until("response.done");
  Json kept, metrics;
  for (const Json& event : events) {
    if (event["type"] == "predgen.speculation.kept") kept = event;
    if (event["type"] == "predgen.metrics") metrics = event;
  }
  EXPECT_THAT(kept["kept"].get<std::string>(), StartsWith("Yes I can."));
  EXPECT_TRUE(metrics["metrics"]["first_sentence_kept"].get<bool>());
  EXPECT_EQ(metrics["response_id"], events.back()["response"]["id"]);
  std::vector<std::string> kinds;
  for (const Json& event : metrics["events"]) {
    kinds.push_back(event["kind"]);
    EXPECT_FALSE(event.contains("text"));
  }
  EXPECT_THAT(kinds, Contains("draft"));
  EXPECT_THAT(kinds, Contains("first_sentence"));
}

TEST(RealtimeSpeculation, SaysWhatIsRejected) {
  House house;
  house.answer = [](const std::string& user) { return "It is " + user + "."; };
  Talk talk(house);
  talk.update(wanting({"speculation", "sentence"}));
  talk.hear("aaa");
  talk.client.next("predgen.sentence.ready");
  talk.hear("aab");
  const Json draft = talk.client.next("predgen.speculation.draft");
  EXPECT_EQ(draft["kept"], "It is aab");  // with the token that the pass itself gave
  EXPECT_EQ(draft["rejected"], "a.");
  talk.client.next("predgen.sentence.ready");
  talk.hear("abb", /*end_of_turn=*/true);
  const Json kept = talk.client.next("predgen.speculation.kept");
  EXPECT_EQ(kept["kept"], "It is a");
  EXPECT_EQ(kept["rejected"], "ab.");
}

TEST(RealtimeSpeculation, CanBeSwitchedOff) {
  House house;
  Talk talk(house);
  talk.update({{"predgen", {{"speculation", false}, {"events", {"speculation"}}}}});
  talk.client.next("session.updated");
  talk.hear("one");
  talk.hear("one two");
  talk.hear("one two three", /*end_of_turn=*/true);
  EXPECT_THAT(types_of(talk.client.until("response.done")),
              Not(Contains("predgen.speculation.draft")));
  EXPECT_THAT(house.metrics.text({}), HasSubstr("predgen_speculative_passes_total 0\n"));
}

TEST(RealtimeSpeculation, LateTranscriptsAreLeftOut) {
  House house;
  Talk talk(house);
  const auto hear = [&](const std::string& text, int revision, bool is_final) {
    talk.send({{"type", "predgen.transcript.update"},
               {"text", text},
               {"revision", revision},
               {"final", is_final}});
  };
  hear("one two", 2, false);
  hear("one", 1, true);
  hear("one two three", 3, true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]),
            "You said: one two three. Go on!");
  hear("four", 1, true);  // of the next turn
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: four. Go on!");
}

TEST(RealtimeSpeculation, EndOfTurnDecidesWhereFinalDoesNot) {
  House house;
  Talk talk(house);
  talk.send({{"type", "predgen.transcript.update"},
             {"text", "one"},
             {"final", true},
             {"end_of_turn", false}});
  talk.hear("one two", /*end_of_turn=*/true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one two. Go on!");
}

TEST(RealtimeSpeculation, WrongTranscriptsAreRefused) {
  House house;
  Talk talk(house);
  talk.send({{"type", "predgen.transcript.update"}});
  EXPECT_EQ(talk.error_code(), "missing_required_parameter");
  talk.send({{"type", "predgen.transcript.update"}, {"text", 5}});
  EXPECT_EQ(talk.error_code(), "invalid_type");
  talk.send({{"type", "predgen.transcript.update"}, {"text", "a"}, {"revision", 1.5}});
  EXPECT_EQ(talk.error_code(), "invalid_type");
  talk.hear(" ", /*end_of_turn=*/true);
  EXPECT_EQ(talk.error_code(), "invalid_value");
  EXPECT_EQ(text_of(talk.ask("one")), "You said: one. Go on!");
}

TEST(RealtimeSpeculation, WordsWithoutAnEndAreLostAndTheNextTurnIsNot) {
  House house;
  house.answer = [](const std::string&) { return "Yes."; };
  Talk talk(house);
  const std::string longest(kMaxTurnBytes, 'a');
  talk.hear("a few");
  settle(house, "a few<end>");
  for (const bool is_end : {false, true}) {
    talk.hear(longest + "b", is_end);
    const Json error = talk.client.next()["error"];
    EXPECT_EQ(error["code"], "turn_too_long");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("65536 bytes"));
  }
  EXPECT_EQ(house.metrics.speaking, 0);
  // Segments of a service are together one turn.
  const auto results = [&](const std::string& text, bool is_end) {
    talk.send({{"type", "Results"},
               {"is_final", true},
               {"speech_final", is_end},
               {"channel", {{"alternatives", Json::array({{{"transcript", text}}})}}}});
  };
  for (int i = 0; i < 20; ++i) results(std::string(4000, 'c'), /*is_end=*/false);
  results("the end", /*is_end=*/true);
  EXPECT_EQ(talk.error_code(), "turn_too_long");
  EXPECT_EQ(talk.error_code(), "turn_too_long") << "the end of the turn, too";
  results("one", /*is_end=*/true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "Yes.");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<user>one<end>"));
}

TEST(RealtimeSpeculation, MessagesThatWaitTogetherAreOneTurn) {
  House house;
  Talk talk(house);
  for (int i = 0; i < 2; ++i) {
    const Json content{{"type", "input_text"}, {"text", std::string(40'000, 'a')}};
    talk.send(
        {{"type", "conversation.item.create"},
         {"item", {{"type", "message"}, {"role", "user"}, {"content", Json::array({content})}}}});
    if (i == 0) {
      talk.hear(std::string(40'000, 'b'), /*end_of_turn=*/true);
      EXPECT_EQ(talk.client.next("error")["error"]["code"], "turn_too_long");
    }
  }
  talk.send({{"type", "response.create"}});
  EXPECT_EQ(talk.client.next("error")["error"]["code"], "turn_too_long");
}

/// As somebody who types over an answer that is heard, or still made.
TEST(RealtimeSpeculation, AnInterruptedAnswerLeavesWhatWasSaidAndDraftsGoOnFromThere) {
  House house(/*has_voice=*/true);
  house.num_chunks = 1;  // then the voice waits
  house.answer = [](const std::string& user) {
    return user == "one" ? "Yes I can. Go on!" : "No well.";
  };
  Talk talk(house);
  talk.update(wanting({"sentence", "speculation"}));
  talk.say("one");
  talk.respond();
  talk.client.next("response.output_audio.delta");
  talk.send({{"type", "response.cancel"}});
  talk.hear("two");
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "cancelled");
  EXPECT_EQ(talk.client.next("predgen.sentence.ready")["text"], "No well.");
  EXPECT_TRUE(house.was_asked("<user>one<end><assistant>Yes I can.", "<user>two<end><assistant>"));
  talk.hear("two", /*end_of_turn=*/true);
  EXPECT_EQ(talk.client.next("predgen.speculation.kept")["kept"], "No well.");
}

TEST(RealtimeSpeculation, AMessageAndWordsAreOneQuestion) {
  House house;
  Talk talk(house);
  talk.say("look at this:");
  talk.hear("what");
  talk.hear("what is it?", /*end_of_turn=*/true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]),
            "You said: look at this:\nwhat is it?. Go on!");
}

TEST(RealtimeSpeculation, ADraftBeginsAnewWhenTheClientChangesWhatItStandsOn) {
  House house;
  Talk talk(house);
  talk.hear("one");
  settle(house, "You said: one");
  talk.update({{"instructions", "Be brief."}});
  settle(house, "<system>Be brief.<end><user>one<end><assistant>You said: one");
  talk.hear("one two", /*end_of_turn=*/true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one two. Go on!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<system>Be brief.<end><user>one two<end>"));
}

TEST(RealtimeSpeculation, WordsDuringAnAnswerAreTheNextTurn) {
  House house;
  Talk talk(house);
  {
    const EngineLock::Hold hold(house.engine_lock);
    talk.hear("one", /*end_of_turn=*/true);
    talk.hear("two");
  }
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one. Go on!");
  settle(house, "<user>two<end><assistant>You said: two");
  EXPECT_EQ(talk.client.num_unread(), 0u);
  talk.hear("two", /*end_of_turn=*/true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: two. Go on!");
}

}  // namespace
}  // namespace predgen::serve
