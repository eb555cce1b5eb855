#include "hear/transcripts/transcript_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

SherpaResult read(const std::string& json) { return parse_sherpa_result(Json::parse(json), "it"); }

TEST(SherpaResult, IsReadAsTheServerWritesIt) {
  const SherpaResult result = read(
      R"({ "text": " AFTER \"EARLY\"", "tokens": [" AFTER", " \"EARLY\""], "timestamps": [0.32, 0.64], )"
      R"("ys_probs": [-0.012345, -0.000001], "lm_probs": [], "context_scores": [], "segment": 3, )"
      R"("words": [], "start_time": 0.00, "is_final": true, "is_eof": false})");
  EXPECT_EQ(result.text, "AFTER \"EARLY\"");
  EXPECT_EQ(result.segment, 3);
  EXPECT_TRUE(result.is_final);
}

TEST(SherpaResult, ThatOfOlderServersHasLess) {
  const SherpaResult result = read(R"({"text": "a", "segment": 1})");
  EXPECT_EQ(result.text, "a");
  EXPECT_EQ(result.segment, 1);
  EXPECT_FALSE(result.is_final);
  EXPECT_EQ(read(R"({"text": "b"})").segment, 0);
}

TEST(SherpaResult, OthersAreRefusedWithoutAWordOfThem) {
  for (const char* message :
       {R"({"txt": "secret"})", R"({"text": 5})", R"({"text": "secret", "segment": "1"})",
        R"({"text": "secret", "segment": 0.5})", R"({"text": "secret", "is_final": 1})"}) {
    try {
      read(message);
      ADD_FAILURE() << message;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos) << error.what();
    }
  }
}

/// What a connection's messages say; a text that ends a turn is followed by a bar.
std::vector<std::string> heard(TranscriptMessages& messages, const std::vector<std::string>& sent) {
  std::vector<std::string> texts;
  for (const std::string& message : sent) {
    const auto lines = messages.read(Json::parse(message), "message");
    if (!lines) {
      texts.emplace_back("?");
      continue;
    }
    for (const TranscriptLine& line : *lines) {
      EXPECT_FALSE(line.revision || line.time);
      texts.push_back(line.text + (line.is_final ? "|" : ""));
    }
  }
  return texts;
}

std::vector<std::string> heard(const std::vector<std::string>& sent) {
  TranscriptMessages messages;
  return heard(messages, sent);
}

using Texts = std::vector<std::string>;

std::string flux(const std::string& event, int turn, const std::string& transcript) {
  return fmt::format(
      R"({{"type": "TurnInfo", "request_id": "5c1f", "sequence_id": 11, "event": "{}",
           "turn_index": {}, "audio_window_start": 0.0, "audio_window_end": 1.2,
           "transcript": "{}", "words": [{{"word": "Hi", "confidence": 0.95, "start": 0.4,
           "end": 0.5}}], "end_of_turn_confidence": 0.3}})",
      event, turn, transcript);
}

// The example of https://developers.deepgram.com/docs/flux/state, and a second turn.
TEST(TranscriptMessages, DeepgramFluxTellsAllOfTheTurn) {
  const std::string cancel = "Hi I need to cancel my subscription";
  EXPECT_EQ(
      heard({R"({"type": "Connected", "request_id": "5c1f", "sequence_id": 0})",
             flux("Update", 0, ""), flux("StartOfTurn", 0, "Hi I"), flux("Update", 0, "Hi I"),
             flux("Update", 0, "Hi I need to"), flux("Update", 0, cancel + "."),
             flux("EagerEndOfTurn", 0, cancel + "."), flux("TurnResumed", 0, cancel + " please"),
             flux("EagerEndOfTurn", 0, cancel + " please."),
             flux("EndOfTurn", 0, cancel + " please."), flux("Update", 1, ""),
             R"({"type": "TurnInfo", "event": "StartOfTurn", "turn_index": 1})",
             flux("Update", 1, "Thanks"), flux("EndOfTurn", 1, "Thanks")}),
      (Texts{"Hi I", "Hi I need to", cancel + ".", cancel + " please", cancel + " please.",
             cancel + " please.|", "Thanks", "Thanks|"}));
}

// Whoever hears such a turn refuses it.
TEST(TranscriptMessages, ATurnGrowsUntilItIsTooLong) {
  TranscriptMessages messages;
  const auto results = [&](bool is_end) {
    return messages
        .read(Json::parse(fmt::format(
                  R"({{"type": "Results", "is_final": true, "speech_final": {},
                                 "channel": {{"alternatives": [{{"transcript": "{}"}}]}}}})",
                  is_end, std::string(1000, 'a'))),
              "message")
        .value();
  };
  size_t longest = 0, num_lines = 0;
  for (int i = 0; i < 200; ++i) {
    for (const TranscriptLine& line : results(/*is_end=*/false)) {
      longest = std::max(longest, line.text.size());
      ++num_lines;
    }
  }
  EXPECT_GT(longest, kMaxTurnBytes);
  EXPECT_LT(longest, kMaxTurnBytes + 1010);
  EXPECT_LT(num_lines, 70u);
  EXPECT_GT(results(/*is_end=*/true).at(0).text.size(), kMaxTurnBytes);
  EXPECT_EQ(results(/*is_end=*/true).at(0).text.size(), 1000u) << "the next turn is another one";
}

TEST(TranscriptMessages, AFalseStartEndsNoTurn) {
  EXPECT_EQ(heard({flux("StartOfTurn", 0, "Uh"), flux("EndOfTurn", 0, ""), flux("EndOfTurn", 1, ""),
                   flux("EndOfTurn", 2, "Yes")}),
            (Texts{"Uh", "", "Yes|"}));
}

std::string results(const std::string& transcript, bool is_final, bool speech_final,
                    bool from_finalize = false, int channel = 0) {
  return fmt::format(
      R"({{"type": "Results", "channel_index": [{}, 1], "duration": 1.98, "start": 5.99,
           "is_final": {}, "speech_final": {}, "from_finalize": {},
           "channel": {{"alternatives": [{{"transcript": "{}", "confidence": 0.99,
           "words": [{{"word": "tell", "start": 6.0, "end": 6.3, "confidence": 0.99}}]}},
           {{"transcript": "worse"}}]}}, "metadata": {{"request_id": "52cc"}}}})",
      channel, is_final, speech_final, from_finalize, transcript);
}

constexpr const char* kUtteranceEnd =
    R"({"type": "UtteranceEnd", "channel": [0, 1], "last_word_end": 2.395})";

TEST(TranscriptMessages, DeepgramsSegmentsAreOneTurn) {
  EXPECT_EQ(heard({R"({"type": "Metadata", "request_id": "52cc"})",
                   R"({"type": "SpeechStarted", "channel": [0, 1], "timestamp": 0.1})",
                   results("", false, false), results("find me", false, false),
                   results("Find me a", true, false), results("", false, false),
                   results("cheap hot", false, false), results("cheap hotel", false, false),
                   results("cheap hotel.", true, true), results("", true, true), kUtteranceEnd,
                   results("And a", false, false), results("And a train.", true, true)}),
            (Texts{"find me", "Find me a", "Find me a cheap hot", "Find me a cheap hotel",
                   "Find me a cheap hotel.|", "And a", "And a train.|"}));
}

TEST(TranscriptMessages, DeepgramsOtherEndsOfATurn) {
  // Noise hides the pause; a late one does not end what has only begun.
  EXPECT_EQ(heard({results("find me", true, false), kUtteranceEnd, results("and", false, false),
                   kUtteranceEnd, results("and more", true, false), results("", false, false),
                   kUtteranceEnd}),
            (Texts{"find me", "find me|", "and", "and more", "and more|"}));
  // The client asked for the rest, since its own ear has heard the end.
  EXPECT_EQ(heard({results("find", false, false), results("find it", true, false, true)}),
            (Texts{"find", "find it|"}));
}

TEST(TranscriptMessages, DeepgramsMessagesAreOfOneSpeaker) {
  expect_user_error([] { heard({results("two", false, false, false, 1)}); },
                    {"message (Deepgram)", "channel_index", "channel 0"});
}

std::string turn(int order, bool end, bool formatted, const std::string& transcript) {
  return fmt::format(
      R"({{"turn_order": {}, "turn_is_formatted": {}, "end_of_turn": {}, "transcript": "{}",
           "end_of_turn_confidence": 0.5, "words": [{{"start": 1920, "end": 2000, "text": "hi",
           "confidence": 0.87, "word_is_final": true}}], "utterance": "", "type": "Turn"}})",
      order, formatted, end, transcript);
}

constexpr const char* kBegin = R"({"type": "Begin", "id": "de5d9927", "expires_at": 1759796682})";

// The example of https://assemblyai.com/docs/streaming/message-sequence, with format_turns.
TEST(TranscriptMessages, AssemblyAisFirstEndOfATurnCounts) {
  EXPECT_EQ(
      heard({kBegin, turn(0, false, false, ""), turn(0, false, false, "hi"),
             turn(0, false, false, "hi my name is"), turn(0, false, false, "hi my name is sonny"),
             turn(0, true, false, "hi my name is sonny"),
             turn(0, true, true, "Hi, my name is Sonny."), turn(1, false, false, "i am a voice"),
             turn(1, true, true, "I am a voice agent."),
             R"({"type": "Termination", "audio_duration_seconds": 9})", kBegin,
             turn(0, true, false, "again")}),
      (Texts{"hi", "hi my name is", "hi my name is sonny", "hi my name is sonny|", "i am a voice",
             "I am a voice agent.|", "again|"}));
}

// As OnlineRecognizerResult::AsJsonString() writes it.
std::string sherpa(const std::string& text, int segment, bool is_final) {
  return fmt::format(
      R"({{ "text": "{}", "tokens": [" A", "FTER"], "timestamps": [0.48, 0.68], "ys_probs": [],
           "lm_probs": [], "context_scores": [], "segment": {}, "words": [], "start_time": 0.00,
           "is_final": {}, "is_eof": false}})",
      text, segment, is_final);
}

TEST(TranscriptMessages, SherpaOnnxsSegmentsAreTurns) {
  EXPECT_EQ(heard({sherpa("", 0, false), sherpa("AFTER", 0, false),
                   sherpa(" AFTER EARLY", 0, false), sherpa(" AFTER EARLY", 0, false),
                   sherpa("AFTER EARLY NIGHTFALL", 0, true), sherpa("", 1, false),
                   sherpa("", 1, true), sherpa("THE", 1, false), sherpa("THE LAMPS", 1, true)}),
            (Texts{"AFTER", "AFTER EARLY", "AFTER EARLY NIGHTFALL|", "THE", "THE LAMPS|"}));
  EXPECT_TRUE(TranscriptMessages::is_farewell("Done!"));
}

TEST(TranscriptMessages, SherpaOnnxsPythonServerCountsTurnsOnly) {
  EXPECT_EQ(heard({R"({"text": "after", "segment": 0})", R"({"text": "after early", "segment": 0})",
                   R"({"text": "", "segment": 1})", R"({"text": "the", "segment": 1})",
                   R"({"text": "lamps", "segment": 2})"}),
            (Texts{"after", "after early", "after early|", "the", "the|", "lamps"}));
}

std::string rtvi(const std::string& text, bool is_final) {
  return fmt::format(
      R"({{"label": "rtvi-ai", "type": "user-transcription", "data": {{"text": "{}",
           "user_id": "", "timestamp": "2025-10-22T02:38:39.119+00:00", "final": {}}}}})",
      text, is_final);
}
std::string rtvi(const char* type) {
  return fmt::format(R"({{"label": "rtvi-ai", "type": "{}", "id": "1", "data": {{}}}})", type);
}

TEST(TranscriptMessages, RtvisTurnEndsWhenTheUserIsSilentAndAllIsFinal) {
  EXPECT_EQ(heard({rtvi("bot-ready"), rtvi("user-started-speaking"), rtvi("find me", false),
                   rtvi("Find me a", true), rtvi("bot-llm-text"), rtvi("cheap", false),
                   rtvi("cheap hotel.", true), rtvi("user-stopped-speaking"),
                   rtvi("bot-started-speaking"), rtvi("user-started-speaking"), rtvi("and", false),
                   rtvi("user-stopped-speaking"), rtvi("and a train", false),
                   rtvi("And a train.", true)}),
            (Texts{"find me", "Find me a", "Find me a cheap", "Find me a cheap hotel.",
                   "Find me a cheap hotel.|", "and", "and a train", "And a train.|"}));
  // Silent while the rest of a turn is on its way.
  EXPECT_EQ(heard({rtvi("user-started-speaking"), rtvi("Find me", true), rtvi("a", false),
                   rtvi("user-stopped-speaking"), rtvi("a train.", true)}),
            (Texts{"Find me", "Find me a", "Find me a train.|"}));
  // Servers that do not say who speaks.
  EXPECT_EQ(heard({rtvi("one", false), rtvi("One.", true), rtvi("Two.", true)}),
            (Texts{"one", "One.|", "Two.|"}));
}

TEST(TranscriptMessages, ChineseSegmentsAreJoinedWithoutSpaces) {
  EXPECT_EQ(heard({results("今天", true, false), results("天气", true, false),
                   results("OK", true, true)}),
            (Texts{"今天", "今天天气", "今天天气 OK|"}));
}

TEST(TranscriptMessages, ConnectionsOfSeveralServicesDoNotMix) {
  TranscriptMessages messages;
  EXPECT_EQ(heard(messages, {results("one", true, false), flux("Update", 0, "other")}),
            (Texts{"one", "other"}));
  EXPECT_EQ(heard(messages, {results("two", true, true)}), (Texts{"one two|"}));
}

TEST(TranscriptMessages, WhatIsNobodysIsTold) {
  EXPECT_EQ(heard({R"({"text": "own"})", R"({"type": "Error", "text": "x", "segment": 1})",
                   R"({"type": "session.update"})", R"({"type": "user-transcription"})", "[]", "3",
                   R"({"type": {"Turn": 1}})"}),
            Texts(7, "?"));
}

TEST(TranscriptMessages, AMessageWithAnotherShapeIsNamed) {
  for (const auto& [message, words] : std::vector<std::pair<std::string, Texts>>{
           {R"({"type": "TurnInfo", "event": "EndOfTurn"})", {"Deepgram Flux", "transcript"}},
           {R"({"type": "TurnInfo", "transcript": "x"})", {"Deepgram Flux", "event"}},
           {R"({"type": "Results", "channel": {"alternatives": []}})",
            {"Deepgram", "alternatives"}},
           {R"({"type": "Results", "channel": {"alternatives": [{"transcript": 1}]}})",
            {"Deepgram", "transcript"}},
           {R"({"type": "Turn", "turn_order": "x"})", {"AssemblyAI", "turn_order"}},
           {R"({"text": 3, "segment": 0})", {"sherpa-onnx", "text"}},
           {R"({"text": "a", "segment": "0"})", {"sherpa-onnx", "segment"}},
           {R"({"label": "rtvi-ai", "type": "user-transcription", "data": "x"})", {"RTVI", "text"}},
           {R"({"label": "rtvi-ai", "type": 5})", {"RTVI", "type"}}}) {
    TranscriptMessages messages;
    try {
      messages.read(Json::parse(message), "line 7");
      ADD_FAILURE() << message;
    } catch (const UserError& error) {
      for (const std::string& word : words) {
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      }
      EXPECT_TRUE(std::string(error.what()).starts_with("line 7")) << error.what();
    }
  }
}

}  // namespace
}  // namespace predgen
