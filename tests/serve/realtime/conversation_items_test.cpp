#include "serve/realtime/conversation_items.h"

#include <gtest/gtest.h>

#include "serve/api_error.h"
#include "serve/realtime/event_json.h"
#include "serve/realtime/realtime_settings.h"

namespace predgen::serve {
namespace {

ConversationItem message(const std::string& id, const std::string& role, const std::string& text) {
  return {.id = id, .role = role, .text = text};
}

std::string code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ApiError& error) {
    return error.code() + " " + error.param();
  }
  return "";
}

std::string heard(const std::string& text, double share) {
  ConversationItems items;
  ConversationItem item = message("a", "assistant", text);
  item.num_samples = 2 * kRealtimeRate;
  items.add(item);
  items.truncate("a", static_cast<int64_t>(share * 2000));
  return items.find("a").text;
}

TEST(ConversationItems, UserMessagesInARowAreOne) {
  ConversationItems items;
  items.add(message("s", "system", "Be brief."));
  items.add(message("1", "user", "one"));
  items.add(message("2", "user", "two"));
  EXPECT_EQ(items.pending(), "one\ntwo");
  EXPECT_TRUE(items.history().empty());
  items.add(message("3", "assistant", "yes"));
  items.add(message("4", "user", "three"));
  items.add(message("t", "system", "In rhymes."));
  const std::vector<Message> history = items.history();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].content, "one\ntwo");
  EXPECT_EQ(history[1].content, "yes");
  EXPECT_EQ(items.pending(), "three");
  EXPECT_EQ(items.system_text(), "Be brief.\n\nIn rhymes.");
}

TEST(ConversationItems, WhatTheServersToolsDidRemainsHoweverLittleWasHeard) {
  const ToolCall call{.id = "c", .name = "lamp", .arguments = "{}"};
  for (const double share : {1.0, 0.8, 0.1}) {
    ConversationItems items;
    items.add(message("1", "user", "light"));
    ConversationItem answer = message("2", "assistant", "I do. It is on now.");
    answer.num_samples = kRealtimeRate;
    answer.rounds = {{.role = "assistant", .content = "I do.", .ids = {1}, .tool_calls = {call}},
                     {.role = "tool", .content = "on", .tool_call_id = "c"}};
    items.add(answer);
    items.truncate("2", static_cast<int64_t>(share * 1000));
    const std::vector<Message> history = items.history();
    ASSERT_EQ(history.size(), share == 0.1 ? 3u : 4u);
    EXPECT_EQ(history[1].content, share == 0.1 ? "I" : "I do.");
    EXPECT_EQ(history[1].ids.empty(), share == 0.1);  // they are of the whole text
    EXPECT_EQ(history[1].tool_calls, std::vector<ToolCall>{call});
    EXPECT_EQ(history[2].content, "on");
    if (share > 0.1) {
      EXPECT_EQ(history[3].content, share == 1.0 ? "It is on now." : "It is on");
    }
    EXPECT_EQ(items.pending(), "");
    items.remove("2");
    EXPECT_EQ(items.pending(), "light");
  }
}

TEST(ConversationItems, CallsBelongToTheirMessageAndAreAnswered) {
  ConversationItems items;
  items.add(message("1", "user", "light"));
  items.add(message("2", "assistant", "I do."));
  for (const char* id : {"a", "b"}) {
    items.add({.id = id, .role = "assistant", .text = "", .call = ToolCall{id, "lamp", "{}"}});
  }
  EXPECT_FALSE(items.goes_on());
  items.add(message("3", "user", "Hello?"));
  items.add({.id = "4", .role = "tool", .text = "bright", .call_id = "b"});
  EXPECT_EQ(items.pending(), "Hello?");
  EXPECT_TRUE(items.goes_on());
  const std::vector<Message> history = items.history();
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[1].content, "I do.");
  EXPECT_EQ(history[1].tool_calls.size(), 2u);
  EXPECT_EQ(history[2].role, "tool");
  EXPECT_EQ(history[2].tool_call_id, "b");
  EXPECT_EQ(code_of([&] { items.add({.id = "5", .role = "tool", .text = "x", .call_id = "c"}); }),
            "invalid_value item.call_id");
}

TEST(ConversationItems, HaveAPlace) {
  ConversationItems items;
  items.add(message("b", "user", "b"));
  items.add(message("a", "user", "a"), "root");
  items.add(message("c", "user", "c"), "b");
  items.add(message("b2", "user", "b2"), "b");
  EXPECT_EQ(items.pending(), "a\nb\nb2\nc");
  EXPECT_EQ(items.previous("a"), "");
  EXPECT_EQ(items.previous("c"), "b2");
  EXPECT_EQ(items.last_id(), "c");
  items.remove("b");
  EXPECT_EQ(items.pending(), "a\nb2\nc");
  EXPECT_EQ(code_of([&] { items.remove("b"); }), "item_not_found item_id");
  EXPECT_EQ(code_of([&] { items.add(message("x", "user", "x"), "b"); }),
            "item_not_found previous_item_id");
  EXPECT_EQ(code_of([&] { items.add(message("a", "user", "x")); }), "invalid_value item.id");
}

TEST(ConversationItems, AreNotMoreThanTheServerWantsToHold) {
  ConversationItems items;
  const std::string text(100'000, 'a');
  for (int i = 0; i < 10; ++i) items.add(message(std::to_string(i), "user", text));
  EXPECT_EQ(code_of([&] { items.add(message("x", "user", text)); }), "conversation_too_long item");
  EXPECT_EQ(code_of([&] { items.add(message("y", "assistant", text)); }),
            "conversation_too_long item");
  ConversationItem own = message("y", "assistant", text);
  own.is_own = true;
  items.add(own);  // what was said already
}

TEST(ConversationItems, AllThatIsHeldCounts) {
  const std::string text(100'000, 'a');
  const auto holds = [&](const std::function<ConversationItem(const std::string&)>& make) {
    ConversationItems items;
    for (int i = 0; i < 10; ++i) items.add(make(std::to_string(i)));
    return code_of([&] { items.add(make("x")); }) != "conversation_too_long item";
  };
  const auto call = [](const ToolCall& one) {
    return ConversationItem{.id = one.id, .role = "assistant", .text = "", .call = one};
  };
  EXPECT_FALSE(holds([&](const std::string& id) { return call({id, "lamp", text}); }));
  EXPECT_FALSE(holds([&](const std::string& id) { return call({id, text, "{}"}); }));
  EXPECT_FALSE(holds([&](const std::string& id) {
    ConversationItem item = call({id + text, "lamp", "{}"});
    item.id = id;
    return item;
  }));
  EXPECT_FALSE(holds([&](const std::string& id) { return message(id + text, "user", "a"); }));
}

TEST(ConversationItems, WhatFailedIsNotAskedAgain) {
  ConversationItems items;
  items.add(message("1", "user", "one"));
  items.forget_pending();
  EXPECT_EQ(items.pending(), "");
  items.add(message("2", "user", "two"));
  EXPECT_EQ(items.pending(), "two");
  EXPECT_TRUE(items.history().empty());
}

TEST(ConversationItems, AreCutToTheWordsThatWereHeard) {
  EXPECT_EQ(heard("one two three four", 0.5), "one two");
  EXPECT_EQ(heard("one two three four", 0.4), "one two");
  EXPECT_EQ(heard("one two three four", 0.1), "");
  EXPECT_EQ(heard("one two three four", 0), "");
  EXPECT_EQ(heard("one two three four", 1), "one two three four");
  EXPECT_EQ(heard("one two three four", 9), "one two three four");
  std::string chinese;
  for (int i = 0; i < 40; ++i) chinese += "\xe4\xb8\xad";
  EXPECT_EQ(heard(chinese, 0.755), chinese.substr(0, 90));
  ConversationItems items;
  items.add(message("a", "assistant", "no sound"));
  EXPECT_EQ(code_of([&] { items.truncate("a", 1); }), "invalid_value item_id");
  EXPECT_EQ(code_of([&] { items.truncate("b", 1); }), "item_not_found item_id");
}

TEST(ConversationItems, ATextThatWasCutIsNoLongerWhatWasGenerated) {
  ConversationItems items;
  items.add(message("q", "user", "q"));
  ConversationItem item = message("a", "assistant", "one two");
  item.num_samples = 1000;
  item.ids = {1, 2};
  items.add(item);
  EXPECT_EQ(items.history().back().ids, (TokenIds{1, 2}));
  items.truncate("a", 1);
  EXPECT_TRUE(items.history().back().ids.empty());
}

TEST(ConversationItems, AreReadAsClientsWriteThem) {
  const auto parsed = [](const char* json) { return parse_item(Json::parse(json), "item"); };
  const ConversationItem user = parsed(
      R"({"id":"a","type":"message","object":"realtime.item","status":"completed","role":"user",
          "content":[{"type":"input_text","text":"one "},{"type":"input_text","text":"two"}]})");
  EXPECT_EQ(user.text, "one two");
  EXPECT_EQ(user.id, "a");
  const auto content = [](const std::string& role, const std::string& type) {
    return fmt::format(R"({{"type":"message","role":"{}","content":[{{"type":"{}","text":"x"}}]}})",
                       role, type);
  };
  EXPECT_EQ(parsed(content("assistant", "output_text").c_str()).text, "x");
  EXPECT_EQ(parsed(content("assistant", "text").c_str()).text, "x");
  EXPECT_EQ(parsed(content("system", "input_text").c_str()).role, "system");
  EXPECT_EQ(to_json(user)["content"][0]["type"], "input_text");
  const auto refused = [&](const std::string& json) {
    return code_of([&] { parsed(json.c_str()); });
  };
  const ConversationItem heard = parsed(
      R"({"type":"message","role":"user","content":[{"type":"input_audio","transcript":"hello"}]})");
  EXPECT_EQ(heard.text, "hello");
  EXPECT_EQ(parsed(content("developer", "input_text").c_str()).role, "system");
  EXPECT_EQ(refused(content("user", "input_audio")),
            "missing_required_parameter item.content.transcript");
  EXPECT_EQ(refused(content("user", "input_image")), "unsupported_value item.content");
  EXPECT_EQ(refused(content("nobody", "input_text")), "invalid_value item.role");
  EXPECT_EQ(refused(R"({"type":"mcp_call","role":"user","content":[]})"),
            "unsupported_value item.type");
  EXPECT_EQ(refused(R"({"type":"message","role":"user","content":[]})"),
            "invalid_value item.content");
  EXPECT_EQ(refused(R"({"type":"message","role":"user","content":"x"})"),
            "invalid_type item.content");
  EXPECT_EQ(refused(R"({"type":"message","role":"user"})"),
            "missing_required_parameter item.content");
  EXPECT_EQ(refused(R"({"role":"user"})"), "missing_required_parameter item.type");
  EXPECT_EQ(refused(R"([1])"), "invalid_type item");
}

}  // namespace
}  // namespace predgen::serve
