#include "runtime/converse/history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/fake_tokenizer.h"

namespace predgen {
namespace {

/// Counts what it renders.
class CountingTokenizer : public FakeTokenizer {
 public:
  TokenIds render_chat(const std::vector<Message>& messages, bool add_generation_prompt,
                       const ToolSet& tools, const std::string& variables) const override {
    TokenIds ids = FakeTokenizer::render_chat(messages, add_generation_prompt, tools, variables);
    num_tokens += std::ssize(ids);
    return ids;
  }
  mutable int64_t num_tokens = 0;
};

std::vector<Message> rounds(int64_t count, size_t bytes) {
  std::vector<Message> messages;
  for (int64_t i = 0; i < count; ++i) {
    messages.push_back({.role = "user", .content = std::string(bytes, 'u')});
    messages.push_back({.role = "assistant", .content = std::string(bytes, 'a')});
  }
  return messages;
}

TEST(History, AnAnswerIsCutOrForgotten) {
  const FakeTokenizer tokenizer;
  History history(tokenizer, "");
  history.replace(rounds(2, 3));
  const ToolCall lamp{.id = "1", .name = "lamp", .arguments = "{}"};
  history.add({.role = "user", .content = "light"});
  history.add({.role = "assistant", .content = "I do.", .ids = {1, 2}, .tool_calls = {lamp}});
  history.cut_answer("I do.");
  EXPECT_EQ(history.rounds().back().ids.size(), 2u) << "nothing has changed";
  history.cut_answer("I");
  EXPECT_EQ(history.rounds().back().content, "I");
  EXPECT_TRUE(history.rounds().back().ids.empty());
  history.cut_answer("");
  ASSERT_EQ(history.rounds().size(), 6u) << "what was called stays";
  EXPECT_EQ(history.rounds().back().content, "");
  history.replace(rounds(2, 3));
  history.cut_answer("");
  EXPECT_EQ(history.rounds().size(), 2u);
}

TEST(History, WithoutWordsOfTheUserTheAssistantSpeaksByItself) {
  const FakeTokenizer tokenizer;
  History history(tokenizer, "Greet.");
  const auto prompt = [&](const std::string& text) {
    const History::Room room{.context_length = 400, .answer_length = 50};
    return tokenizer.decode(history.prompt(text, room).ids, /*keep_special=*/true);
  };
  EXPECT_EQ(prompt(""), "<system>Greet.<end><assistant>");
  history.add({.role = "assistant", .content = "Hello!"});
  EXPECT_EQ(prompt(" "), "<system>Greet.<end><assistant>Hello!<end><assistant>");
  EXPECT_EQ(prompt("Hi"), "<system>Greet.<end><assistant>Hello!<end><user>Hi<end><assistant>");
  const History none(tokenizer, "");
  EXPECT_EQ(tokenizer.decode(none.prompt("", {.context_length = 400, .answer_length = 50}).ids,
                             /*keep_special=*/true),
            "<user><end><assistant>");
}

constexpr History::Room kRoom{.context_length = 400, .answer_length = 50};

/// The fewest rounds to drop, by looking at all of them.
int64_t dropped_rounds(const std::vector<Message>& messages, const std::string& text) {
  const FakeTokenizer tokenizer;
  const auto size = [&](int64_t first, bool with_text) {
    std::vector<Message> kept(messages.begin() + 2 * first, messages.end());
    if (with_text) kept.push_back({.role = "user", .content = text});
    return kept.empty() ? 0 : std::ssize(tokenizer.render_chat(kept, with_text, {}));
  };
  const int64_t count = std::ssize(messages) / 2, limit = 350;
  if (size(0, true) <= limit) return 0;
  int64_t first = 1;
  while (first < count && size(first, false) > 200) ++first;
  while (first < count && size(first, true) > limit) ++first;
  return first;
}

TEST(History, IsCutWhereItShouldBe) {
  const CountingTokenizer tokenizer;
  for (const int64_t count : {1, 2, 3, 4, 5, 8, 9, 20, 100}) {
    for (const size_t bytes : {1, 10, 30, 95, 300}) {
      History history(tokenizer, "");
      const std::vector<Message> messages = rounds(count, bytes);
      history.replace(messages);
      for (const size_t length : {1, 100, 200, 330, 20}) {
        const std::string text(length, 't');
        EXPECT_EQ(history.prompt(text, kRoom).dropped_rounds, dropped_rounds(messages, text))
            << count << " rounds of " << bytes << ", and " << length;
      }
    }
  }
}

TEST(History, WhatDoesNotFitIsNotRenderedForEachPartial) {
  const CountingTokenizer tokenizer;
  History history(tokenizer, "");
  history.replace(rounds(10000, 10));
  history.tokens(kRoom);
  EXPECT_LT(tokenizer.num_tokens, 20 * kRoom.context_length);
  tokenizer.num_tokens = 0;
  std::string text;
  for (int i = 0; i < 20; ++i) history.prompt(text += "word ", kRoom);
  EXPECT_LT(tokenizer.num_tokens, 20 * kRoom.context_length);
  EXPECT_GT(tokenizer.num_tokens, 0);
}

TEST(History, ACutIsNotThatOfOtherMessages) {
  const CountingTokenizer tokenizer;
  History history(tokenizer, "");
  history.replace(rounds(100, 10));
  EXPECT_GT(history.prompt("text", kRoom).dropped_rounds, 80);
  history.drop(98);
  EXPECT_EQ(history.prompt("text", kRoom).dropped_rounds, 0);
  for (int i = 0; i < 100; ++i) {
    for (const Message& message : rounds(1, 20)) history.add(message);
  }
  EXPECT_EQ(history.prompt("text", kRoom).dropped_rounds, 98);
}

}  // namespace
}  // namespace predgen
