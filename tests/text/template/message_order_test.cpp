#include "text/template/message_order.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

std::string shown_in_order(const std::string& source, const std::vector<Message>& messages) {
  const auto tokenizer = tokenizer_with_template(source);
  return tokenizer->decode(tokenizer->render_chat(messages, true), true);
}

Json message_of(const std::string& role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

TEST(MessageOrder, NeighboursAreMergedAndNothingIsLeftOut) {
  Json call = message_of("assistant", "");
  call["tool_calls"] = Json::array({1});
  const Json given = Json::array(
      {message_of("system", "a"), message_of("system", "b"), message_of("assistant", "c"),
       message_of("user", "d"), message_of("user", "e"), call, message_of("system", "f"),
       message_of("tool", "g"), message_of("tool", "h"), message_of("system", "i")});
  EXPECT_EQ(in_order(given, MessageOrder::kAsGiven), given);
  const Json rest =
      Json::array({message_of("assistant", "c"), message_of("user", "d\n\ne"), call,
                   message_of("tool", "g"), message_of("tool", "h"), message_of("user", "f\n\ni")});
  Json merged = Json::array({message_of("system", "a\n\nb"), message_of("user", "")});
  Json without_system = Json::array({message_of("user", "a\n\nb")});
  for (const Json& one : rest) {
    merged.push_back(one);
    without_system.push_back(one);
  }
  EXPECT_EQ(in_order(given, MessageOrder::kMerged), merged);
  EXPECT_EQ(in_order(given, MessageOrder::kWithoutSystem), without_system);
  EXPECT_EQ(in_order(Json::array({message_of("system", "a")}), MessageOrder::kWithoutSystem),
            Json::array({message_of("user", "a")}));
}

TEST(MessageOrder, WhatIsSaidIsShownOrRefused) {
  const std::string no_system =
      "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}<{{ m.role }}>{{ m.content | "
      "upper }}{% endif %}{% endfor %}";
  EXPECT_EQ(shown_in_order(no_system, {{"system", "rule"}, {"user", "hi"}}), "<user>RULE\n\nHI");
  EXPECT_EQ(shown_in_order(no_system, {{"user", "hi"}, {"assistant", "yo"}, {"system", "rule"}}),
            "<user>HI<assistant>YO<user>RULE");
  const std::string no_contents = "{{ 7 // 2 }}";  // left out by intention
  EXPECT_EQ(shown_in_order(no_contents, {{"system", "rule"}, {"user", "hi"}}), "3");
  const std::string no_tools =
      "{% for m in messages %}{% if m.role != 'tool' %}{{ m.content }}{% endif %}{% endfor %}";
  EXPECT_EQ(shown_in_order(no_tools, {{"user", "x"},
                                      {.role = "tool", .content = "seven", .tool_call_id = "a"}}),
            "x<tool_response>\nseven\n</tool_response>");
}

TEST(MessageOrder, ABudgetIsForAllOfAConversation) {
  const auto bomb = [](const std::string& condition) {
    return "{% for m in messages %}{{ m.content }}{% endfor %}{% if " + condition +
           " %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}{% "
           "endif %}";
  };
  const auto tokenizer = tokenizer_with_template(bomb("messages | length > 2"));
  EXPECT_EQ(tokenizer->decode(tokenizer->render_chat({{"user", "x"}})), "x");
  expect_user_error(
      [&] {
        tokenizer->render_chat({{"user", "x"}, {"assistant", "y"}, {"user", "z"}});
      },
      {"tokenizer_config.json", "takes longer than 1000 ms"});
  expect_user_error(
      [&] {
        tokenizer_with_template(bomb("tools"))->render_chat({{"user", "x"}});
      },
      {"takes longer than 1000 ms"});
}

}  // namespace
}  // namespace predgen
