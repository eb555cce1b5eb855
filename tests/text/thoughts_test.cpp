#include "text/thoughts.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_tokenizer.h"

namespace predgen {
namespace {

ThoughtParser::Pieces parsed(const std::string& text, size_t piece,
                             AnswerStart start = AnswerStart::kAnswer) {
  ThoughtParser parser(start);
  ThoughtParser::Pieces all;
  const auto take = [&](const ThoughtParser::Pieces& pieces) {
    all.said += pieces.said;
    all.thought += pieces.thought;
  };
  for (size_t at = 0; at < text.size(); at += piece) take(parser.push(text.substr(at, piece)));
  take(parser.finish());
  return all;
}

struct ThoughtsCase {
  std::string text, said, thought;
};

void expect_cases(const std::vector<ThoughtsCase>& cases, AnswerStart start) {
  for (const ThoughtsCase& each : cases) {
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{1000}}) {
      const ThoughtParser::Pieces got = parsed(each.text, piece, start);
      EXPECT_EQ(got.said, each.said) << each.text << " by " << piece;
      EXPECT_EQ(got.thought, each.thought) << each.text << " by " << piece;
    }
  }
}

TEST(ThoughtParser, SeparatesThoughtsHoweverTheTextArrives) {
  expect_cases({{"Hello.", "Hello.", ""},
                {" Hello < you.", " Hello < you.", ""},
                {"\n ", "\n ", ""},
                {"<think>Short, then.</think>Hello.", "Hello.", "Short, then."},
                {"\n<think>\nOne.\n\nTwo.\n</think>\n\nHello.", "Hello.", "One.\n\nTwo."},
                {"<think>\n\n</think>\n\nHello.", "Hello.", ""},
                {"<think></think>", "", ""},
                {"[THINK]a[/THINK]Hi", "Hi", "a"},
                {"<thinking>a < b</thinking> Hi", "Hi", "a < b"},
                {"<think>Cut off", "", "Cut off"},
                {"<think>Cut off in its mark</thi", "", "Cut off in its mark</thi"},
                {"<thin", "<thin", ""},
                {"<|channel>thought\nThey greet.\n<channel|>Hello.", "Hello.", "They greet."},
                {"<|channel>thought\n<channel|>Hello.", "Hello.", ""},
                {"<|channel>thou", "<|channel>thou", ""},
                {"Sure. <think>Hm.</think> Yes.", "Sure. Yes.", "Hm."},
                {"<think>a</think>\nYes.\n<think>b</think>No.", "Yes.\nNo.", "a\n\nb"},
                // Spoken of.
                {"The tag <think> opens it.", "The tag <think> opens it.", ""},
                {"`<think>`", "`<think>`", ""},
                {"A list: [THIS] <thick>", "A list: [THIS] <thick>", ""}},
               AnswerStart::kAnswer);
}

TEST(ThoughtParser, AThoughtMayBeBegunByThePrompt) {
  expect_cases({{"Short.\n</think>\n\nHello.", "Hello.", "Short."},
                {"</think>Hello.", "Hello.", ""},
                {"a[/THINK]Hello.", "Hello.", "a"},
                {"Cut off", "", "Cut off"}},
               AnswerStart::kThought);
  expect_cases({{"<think>a</think>", "<think>a</think>", ""}}, AnswerStart::kText);
}

TEST(ThoughtParser, MessagesOfAnalysisAreThoughts) {
  const std::string final = "<|start|>assistant<|channel|>final<|message|>";
  expect_cases(
      {{"<|channel|>analysis<|message|>They greet.<|end|>" + final + "Hello.<|return|>", "Hello.",
        "They greet."},
       {"<|channel|>final<|message|>Hello < you", "Hello < you", ""},
       {"<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>analysis<|message|>"
        "Two.<|end|>" +
            final + "Hi",
        "Hi", "One.\n\nTwo."},
       // What the user sees before a call.
       {"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.lamp <|constrain|>json<|message|>{\"on\": true}<|call|>",
        "I look.<|channel|>commentary to=functions.lamp<|message|>{\"on\": true}", ""},
       {" to=functions.lamp<|channel|>commentary json<|message|>{}",
        "<|channel|>commentary to=functions.lamp<|message|>{}", ""},
       {"<|channel|>commentary to=functions.lamp<|message|><|call|>",
        "<|channel|>commentary to=functions.lamp<|message|>{}", ""},
       {"<|channel|>analysis to=python code<|message|>print(1)<|call|>", "", "print(1)"},
       {"<|channel|>analysis<|message|>Cut of", "", "Cut of"},
       {"<|channel|>final<|message|>Cut<|en", "Cut<|en", ""},
       {"<|channel|>analy", "", ""},
       {"<|channel|>analysis<|message|>No end<|start|>assistant<|channel|>final<|message|>Hi", "Hi",
        "No end"},
       {"Hello without channels.", "Hello without channels.", ""},
       {"another", "another", ""}},
      AnswerStart::kChannels);
}

TEST(Thoughts, APromptsEndTellsHowTheAnswerBegins) {
  const FakeTokenizer tokenizer;
  const auto start = [&](const std::string& text) {
    return answer_start(tokenizer, tokenizer.encode_special(text));
  };
  EXPECT_EQ(start("<user>Hi<end><assistant>"), AnswerStart::kAnswer);
  EXPECT_EQ(start("<user>Hi<end><assistant><think>\n"), AnswerStart::kThought);
  EXPECT_EQ(start("<user>Hi<end><assistant><think>\n\n</think>\n\n"), AnswerStart::kAnswer);
  EXPECT_EQ(start("<user><think><end><assistant>"), AnswerStart::kAnswer);
  const FakeTokenizer gemma({"<|channel>", "<channel|>"});
  EXPECT_EQ(answer_start(gemma, gemma.encode("Hi<|channel>thought\n")), AnswerStart::kThought);
  EXPECT_EQ(answer_start(gemma, gemma.encode("Hi<|channel>thought\n<channel|>")),
            AnswerStart::kAnswer);
  EXPECT_EQ(answer_start(tokenizer, {}), AnswerStart::kAnswer);
}

TEST(Thoughts, AreNotForVoices) {
  EXPECT_EQ(without_thoughts("<think>The user greets me.</think>Hello there."), "Hello there.");
  EXPECT_EQ(without_thoughts("I should be short.</think>Hello there."), "Hello there.");
  EXPECT_EQ(without_thoughts("I <think>really</think>do."), "I do.");
  EXPECT_EQ(without_thoughts("<think>One. Two. Three."), "");
  EXPECT_EQ(without_thoughts("Yes. [THINK]One."), "Yes. ");
  EXPECT_EQ(without_thoughts("a < b and [c]"), "a < b and [c]");
  EXPECT_EQ(without_thoughts("<|channel>thought\nHm.<channel|>Yes."), "Yes.");
}

TEST(ThoughtParser, KnowsTheTokensThatOnlyMarkThoughts) {
  const ThoughtParser parser;
  for (const char* mark : {"<think>", "[/THINK]", "<|channel>", "<channel|>"}) {
    EXPECT_TRUE(parser.is_marker(mark)) << mark;
  }
  EXPECT_FALSE(parser.is_marker("<|turn>"));
}

}  // namespace
}  // namespace predgen
