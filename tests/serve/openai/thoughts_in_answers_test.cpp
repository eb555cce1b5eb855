#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/serve/openai/counting_api.h"

namespace predgen::serve {
namespace {

const std::vector<std::string> kThinkingWords{"<think>", "</think>", " Hm", ".",
                                              "\n\n",    "Hello",    "!"};

/// Thinks if the prompt has begun a thought, or if `always`, and then says "Hello!".
FakeApi::Next thinking(bool always) {
  return [always](TokenSpan history) {
    constexpr TokenId kFirst = FakeTokenizer::kFirstWord;
    size_t begin = history.size();
    while (begin > 0 && history[begin - 1] != FakeTokenizer::kAssistant) --begin;
    const size_t place = history.size() - begin;
    const bool is_begun = place > 0 && history[begin] == kFirst;
    const TokenIds thought{kFirst, kFirst + 2, kFirst + 3, kFirst + 1, kFirst + 4};
    const TokenIds answer{kFirst + 5, kFirst + 6, FakeTokenizer::kEnd};
    TokenIds all;
    if (always || is_begun) all = thought;
    all.insert(all.end(), answer.begin(), answer.end());
    return all[std::min(place, all.size() - 1)];
  };
}

struct ThinkingApi : FakeApi {
  explicit ThinkingApi(bool can_think, const ServeConfig& wanted = {})
      : FakeApi(kThinkingWords, wanted, thinking(/*always=*/!can_think)) {
    tokenizer.can_think = can_think;
  }
  Json ask(const std::string& more) {
    FakeReply reply;
    api.handle(CountingApi::chat_request("hi", more), reply, {});
    return Json::parse(reply.answers.at(0).body);
  }
};

TEST(ThoughtsInAnswers, AreApartFromTheContent) {
  const Json answer = ThinkingApi(/*can_think=*/false).ask("");
  const Json& message = answer["choices"][0]["message"];
  EXPECT_EQ(message["content"], "Hello!");
  EXPECT_EQ(message["reasoning_content"], "Hm.");
  EXPECT_EQ(message["reasoning"], "Hm.");
  EXPECT_EQ(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], 4);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 8);
  const Json cut = ThinkingApi(false).ask(R"(,"max_tokens":2)");
  EXPECT_EQ(cut["choices"][0]["message"]["content"], "");
  EXPECT_EQ(cut["choices"][0]["message"]["reasoning_content"], "Hm");
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  const Json hidden = ThinkingApi(false).ask(R"(,"include_reasoning":false)");
  EXPECT_EQ(hidden["choices"][0]["message"]["content"], "Hello!");
  EXPECT_FALSE(hidden["choices"][0]["message"].contains("reasoning_content"));
}

TEST(ThoughtsInAnswers, ComeOnRequestAlone) {
  for (const char* no : {"", R"(,"reasoning_effort":"none")", R"(,"enable_thinking":false)",
                         R"(,"chat_template_kwargs":{"enable_thinking":false},"think":true)"}) {
    const Json answer = ThinkingApi(/*can_think=*/true).ask(no);
    EXPECT_EQ(content_of(answer), "Hello!") << no;
    EXPECT_FALSE(answer["choices"][0]["message"].contains("reasoning_content")) << no;
  }
  for (const char* yes : {R"(,"reasoning_effort":"low")", R"(,"think":true)",
                          R"(,"chat_template_kwargs":{"enable_thinking":true})"}) {
    const Json answer = ThinkingApi(true).ask(yes);
    EXPECT_EQ(content_of(answer), "Hello!") << yes;
    EXPECT_EQ(answer["choices"][0]["message"]["reasoning_content"], "Hm.") << yes;
  }
  ServeConfig thinks;
  thinks.thinks = true;
  EXPECT_TRUE(ThinkingApi(true, thinks).ask("")["choices"][0]["message"].contains("reasoning"));
  EXPECT_FALSE(ThinkingApi(true, thinks)
                   .ask(R"(,"think":false)")["choices"][0]["message"]
                   .contains("reasoning"));
}

TEST(ThoughtsInAnswers, AreStreamed) {
  ThinkingApi api(/*can_think=*/true);
  FakeReply reply;
  api.api.handle(CountingApi::chat_request("hi", R"(,"stream":true,"think":true)"), reply, {});
  reply.events.pop_back();
  std::string thought, text;
  for (const std::string& event : reply.events) {
    const Json delta = Json::parse(event)["choices"][0]["delta"];
    const std::string more = delta.value("reasoning_content", "");
    EXPECT_TRUE(more.empty() || text.empty()) << "thoughts come first";
    thought += more;
    text += delta.value("content", "");
  }
  EXPECT_EQ(thought, "Hm.");
  EXPECT_EQ(text, "Hello!");
}

TEST(ThoughtsInAnswers, ATextToContinueHasNone) {
  ThinkingApi api(/*can_think=*/false);
  FakeReply reply;
  api.api.handle({.method = "POST",
                  .path = "/v1/completions",
                  .body = R"({"model":"m","prompt":"<assistant>","max_tokens":2})"},
                 reply, {});
  const Json answer = Json::parse(reply.answers.at(0).body);
  EXPECT_TRUE(answer["choices"][0]["text"].is_string());
  EXPECT_FALSE(answer["choices"][0].contains("reasoning_content"));
}

}  // namespace
}  // namespace predgen::serve
