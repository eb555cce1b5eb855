#include "serve/openai/completer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "core/json.h"
#include "tests/serve/openai/counting_api.h"

namespace predgen::serve {
namespace {

TEST(Completer, AnswersAChat) {
  CountingApi api;
  const Json answer = api.chat("hello");  // 8 tokens with the roles
  EXPECT_EQ(content_of(answer),
            " two three four five. six seven one two three four five. six seven one two");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["model"], "m");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 8);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 16);  // with the stop token
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST(Completer, LimitsAndStopStringsEndAnAnswer) {
  CountingApi api;
  const Json cut = api.chat("hello", R"(,"max_tokens":3)");
  EXPECT_EQ(content_of(cut), " two three four");
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  const Json stopped = api.chat("hello", R"(,"stop":["e fo"])");
  EXPECT_EQ(content_of(stopped), " two thre");
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(stopped["usage"]["completion_tokens"], 3);
}

TEST(Completer, AnAnswerThatIsCutEndsBeforeAnUnfinishedCharacter) {
  const auto smiling = [](TokenSpan history) {
    constexpr std::array<TokenId, 4> kBytes{0xF0, 0x9F, 0x99, 0x82};
    const auto prompt = std::ranges::find(history, FakeTokenizer::kAssistant);
    return kBytes[static_cast<size_t>(history.end() - prompt - 1) % kBytes.size()];
  };
  for (const auto& [limit, text] : {std::pair(4, "\U0001F642"), std::pair(7, "\U0001F642")}) {
    FakeApi api(kWords, {}, smiling);
    FakeReply reply;
    const std::string more = R"(,"max_tokens":)" + std::to_string(limit);
    api.api.handle(CountingApi::chat_request("hello", more), reply, {});
    EXPECT_EQ(content_of(Json::parse(reply.answers.at(0).body)), text);
  }
}

TEST(Completer, APredictionSavesPassesAndChangesNothing) {
  const auto answer = [](const std::string& more) {
    CountingApi api;
    const Json json = api.chat("hello", more);
    const Json& details = json["usage"]["completion_tokens_details"];
    return std::tuple(content_of(json), std::stoi(api.metric("predgen_forward_passes_total")),
                      details["accepted_prediction_tokens"].get<int>(),
                      details["rejected_prediction_tokens"].get<int>());
  };
  const auto [text, passes, none_kept, none_lost] = answer("");
  EXPECT_EQ(std::pair(none_kept, none_lost), std::pair(0, 0));
  const auto predicted = [&](const std::string& words) {
    return answer(R"(,"prediction":{"type":"content","content":")" + words + "\"}");
  };
  const auto [same, fewer_passes, kept, lost] = predicted(text);
  EXPECT_EQ(same, text);
  EXPECT_GE(kept, 12);  // of 16 tokens
  EXPECT_EQ(fewer_passes, passes - kept);
  // What the answer says elsewhere is found again after one token.
  const auto [still_same, some_passes, some_kept, some_lost] =
      predicted(" one one six four five. six two two");
  EXPECT_EQ(still_same, text);
  EXPECT_EQ(some_passes, passes - some_kept);
  EXPECT_GT(some_kept, 0);
  EXPECT_GT(some_lost, lost);
}

TEST(Completer, ADraftModelSavesPassesAndChangesNothing) {
  const auto passes = [](CountingApi& api) {
    return std::stoi(api.metric("predgen_forward_passes_total"));
  };
  CountingApi plain, drafted({}, /*has_drafts=*/true);
  const std::string text = content_of(plain.chat("hello"));
  const Json answer = drafted.chat("hello");
  EXPECT_EQ(content_of(answer), text);
  EXPECT_LT(4 * passes(drafted), passes(plain));
  EXPECT_EQ(answer["usage"]["completion_tokens_details"]["accepted_prediction_tokens"], 0)
      << "the client has predicted nothing";
  std::vector<std::string> texts(4);
  {
    std::vector<std::jthread> clients;
    for (std::string& one : texts) {
      clients.emplace_back([&] { one = content_of(drafted.chat("hello")); });
    }
  }
  EXPECT_EQ(texts, std::vector<std::string>(4, text));
}

TEST(Completer, StreamsTheSameText) {
  CountingApi api;
  const std::string whole = content_of(api.chat("hello"));
  FakeReply reply;
  api.handle(CountingApi::chat_request("hello",
                                       R"(,"stream":true,"stream_options":{"include_usage":true})"),
             reply);
  EXPECT_TRUE(reply.answers.empty());
  ASSERT_GT(reply.events.size(), 10u);
  EXPECT_EQ(reply.events.back(), "[DONE]");
  reply.events.pop_back();
  std::string text;
  Json last;
  for (const std::string& event : reply.events) {
    const Json chunk = Json::parse(event);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    if (chunk["choices"].empty()) {
      EXPECT_EQ(chunk["usage"]["completion_tokens"], 16);
      EXPECT_EQ(&event, &reply.events.back());
      continue;
    }
    last = chunk["choices"][0];
    text += last["delta"].value("content", "");
  }
  EXPECT_EQ(text, whole);
  EXPECT_EQ(last["finish_reason"], "stop");
  EXPECT_EQ(Json::parse(reply.events[0])["choices"][0]["delta"]["role"], "assistant");
}

TEST(Completer, GoesOnWithATextOrIds) {
  CountingApi api;
  const auto complete = [&](const std::string& prompt) {
    return Json::parse(api.ask({.method = "POST",
                                .path = "/v1/completions",
                                .body = R"({"model":"m","max_tokens":2,"prompt":)" + prompt + "}"})
                           .body);
  };
  const Json answer = complete(R"("hello")");
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], " six seven");
  EXPECT_EQ(complete("[104,101,108,108,111]")["choices"][0]["text"], " six seven");
  EXPECT_EQ(complete("[100000]")["error"]["param"], "prompt");
  EXPECT_EQ(complete(R"("")")["error"]["param"], "prompt");
}

TEST(Completer, SamplingDrawsByItsSeed) {
  CountingApi api;
  const auto drawn = [&](int seed) {
    return content_of(api.chat("hello", fmt::format(R"(,"temperature":2,"seed":{})", seed)));
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  api.defaults.not_honoured = "typical_p";
  EXPECT_EQ(api.error_code(CountingApi::chat_request("hello", R"(,"temperature":1)"), 400),
            "invalid_value");
  // Greedy.
  EXPECT_EQ(content_of(api.chat("hello", R"(,"top_p":0)")), content_of(api.chat("hello")));
}

TEST(Completer, TheNextRequestOfAConversationFindsItsPrefixCached) {
  CountingApi api;
  const std::string answer = content_of(api.chat("hello"));
  const Json messages = Json::array({{{"role", "user"}, {"content", "hello"}},
                                     {{"role", "assistant"}, {"content", answer}},
                                     {{"role", "user"}, {"content", "more"}}});
  HttpRequest next = CountingApi::chat_request("");
  next.body = R"({"model":"m","messages":)" + messages.dump() + "}";
  const Json usage = Json::parse(api.ask(next).body)["usage"];
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 8 + 15);  // not the stop token
  EXPECT_EQ(api.metric("predgen_prefix_cache_hits_total"), "23");
  EXPECT_EQ(api.metric("predgen_prefix_cache_queries_total"),
            std::to_string(8 + usage["prompt_tokens"].get<int>()));
}

TEST(Completer, APenaltyOnRepetitionCountsInGreedyAnswers) {
  CountingApi api;
  // The fake model's likeliest word comes again after seven; with the penalty others are before it.
  const std::string plain = content_of(api.chat("hello"));
  const std::string punished = content_of(api.chat("hello", R"(,"repetition_penalty":50)"));
  EXPECT_NE(punished, plain);
  EXPECT_EQ(punished, content_of(api.chat("hello", R"(,"repetition_penalty":50,"temperature":0)")));
  EXPECT_EQ(plain, content_of(api.chat("hello", R"(,"repetition_penalty":1)")));
  const std::string predicted = R"(,"prediction":{"type":"content","content":")" + plain + "\"}";
  EXPECT_EQ(punished, content_of(api.chat("hello", R"(,"repetition_penalty":50)" + predicted)));
  api.defaults.not_honoured = "typical_p";  // concerns drawing alone
  EXPECT_EQ(punished, content_of(api.chat("hello", R"(,"repetition_penalty":50)")));
}

TEST(Completer, PenaltiesAndBiasesAreExactHoweverTheAnswerIsDecoded) {
  for (const char* settings :
       {R"(,"frequency_penalty":1.5)", R"(,"presence_penalty":2)",
        R"(,"frequency_penalty":-2,"temperature":1,"seed":3)",
        R"(,"repeat_penalty":3,"repeat_last_n":8)", R"(,"logit_bias":{"261":-100})",
        R"(,"logit_bias":{"262":100,"263":1},"presence_penalty":1,"temperature":0.5,"seed":1)"}) {
    const std::string plain = content_of(CountingApi().chat("hello"));
    const std::string text = content_of(CountingApi().chat("hello", settings));
    EXPECT_NE(text, plain) << settings;
    for (const std::string& predicted : {text, plain}) {
      CountingApi api;
      const std::string guess =
          R"(,"prediction":{"type":"content","content":)" + Json(predicted).dump() + "}";
      EXPECT_EQ(content_of(api.chat("hello", settings + guess)), text) << settings;
    }
    ServeConfig jacobi;
    jacobi.decoder = "jacobi";
    EXPECT_EQ(content_of(CountingApi(jacobi).chat("hello", settings)), text) << settings;
  }
  CountingApi api;
  EXPECT_EQ(api.error_code(CountingApi::chat_request("hello", R"(,"logit_bias":{"9999":1})"), 400),
            "invalid_value");
}

TEST(Completer, SeveralAnswersHaveDrawsOfTheirOwn) {
  CountingApi api;
  const std::string drawn = R"(,"temperature":2,"seed":1,"max_tokens":9)";
  const std::string one = content_of(api.chat("hello", drawn));
  const Json answer = api.chat("hello", drawn + R"(,"n":3)");
  ASSERT_EQ(answer["choices"].size(), 3u);
  std::set<std::string> texts;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    texts.insert(answer["choices"][i]["message"]["content"].get<std::string>());
  }
  EXPECT_EQ(content_of(answer), one);
  EXPECT_EQ(texts.size(), 3u);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 8);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 27);

  FakeReply reply;
  api.handle(
      CountingApi::chat_request(
          "hello", drawn + R"(,"n":3,"stream":true,"stream_options":{"include_usage":true})"),
      reply);
  EXPECT_EQ(reply.events.back(), "[DONE]");
  reply.events.pop_back();
  const Json usage = Json::parse(reply.events.back())["usage"];
  EXPECT_EQ(usage["completion_tokens"], 27);
  reply.events.pop_back();
  std::map<int, std::string> streamed, ends;
  for (const std::string& event : reply.events) {
    const Json choice = Json::parse(event)["choices"][0];
    streamed[choice["index"]] += choice["delta"].value("content", "");
    if (!choice["finish_reason"].is_null()) ends[choice["index"]] = choice["finish_reason"];
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(streamed[i], answer["choices"][i]["message"]["content"]);
    EXPECT_EQ(ends[i], "length");
  }
}

TEST(Completer, AnAnswerInALoopEnds) {
  const auto looping = [](TokenSpan) { return FakeTokenizer::kFirstWord; };
  const auto ask = [&](const ServeConfig& config, const std::string& path,
                       const std::string& more) {
    FakeApi api(kWords, config, looping);
    FakeReply reply;
    HttpRequest request = CountingApi::chat_request("hello", more);
    if (path == "/v1/completions") request.body = R"({"model":"m","prompt":"hello")" + more + "}";
    request.path = path;
    api.api.handle(request, reply, {});
    return Json::parse(reply.answers.at(0).body);
  };
  const std::string chat = "/v1/chat/completions", limit = R"(,"max_tokens":100)";
  const Json ended = ask({}, chat, limit);
  EXPECT_EQ(ended["usage"]["completion_tokens"], 48);
  EXPECT_EQ(ended["choices"][0]["finish_reason"], "length");
  const std::string predicted = R"(,"prediction":{"type":"content","content":" one one one one"})";
  EXPECT_EQ(content_of(ask({}, chat, limit + predicted)), content_of(ended));
  ServeConfig lets;
  lets.let_repeat = true;
  EXPECT_EQ(ask(lets, chat, limit)["usage"]["completion_tokens"], 100);
  EXPECT_EQ(ask({}, "/v1/completions", limit)["usage"]["completion_tokens"], 100);
}

TEST(Completer, RequestsOfSeveralThreadsGetWhatOneAloneGets) {
  const std::vector<std::string> prompts{"a", "hello", "hello there", "somebody else"};
  std::vector<std::string> alone, together(prompts.size());
  for (const std::string& prompt : prompts) alone.push_back(content_of(CountingApi().chat(prompt)));
  CountingApi api;
  std::vector<FakeReply> replies(prompts.size());
  std::vector<std::jthread> threads;
  {
    const EngineLock::Hold hold(api.engine_lock);  // until all have come
    for (size_t i = 0; i < prompts.size(); ++i) {
      threads.emplace_back(
          [&, i] { api.handle(CountingApi::chat_request(prompts[i]), replies[i]); });
    }
    while (api.engine_lock.num_waiting() < std::ssize(prompts)) std::this_thread::yield();
    EXPECT_EQ(api.completer.num_sessions(), 4);
  }
  threads.clear();
  int64_t num_tokens = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Json answer = Json::parse(replies[i].answers.at(0).body);
    EXPECT_EQ(content_of(answer), alone[i]);
    num_tokens += answer["usage"]["completion_tokens"].get<int64_t>();
  }
  EXPECT_LT(api.model.num_passes, num_tokens / 2);
}

TEST(Completer, NothingIsGeneratedForAClientThatLeft) {
  CountingApi api;
  FakeReply reply;
  reply.on_event = [&] { reply.has_left = reply.events.size() == 4; };  // the role and 3 words
  api.handle(CountingApi::chat_request("hello", R"(,"stream":true)"), reply);
  EXPECT_EQ(api.metric("predgen_generated_tokens_total"), "3");
  EXPECT_EQ(api.metric("predgen_active_sessions"), "0");
}

TEST(Completer, NobodyWaitsForASlowReader) {
  CountingApi api;
  FakeReply reply;
  std::string held;  // whether others had to wait, each time that the client was waited for
  reply.is_busy = true;
  reply.on_flush = [&] { held += api.engine_lock.is_held_here() ? 'y' : 'n'; };
  api.handle(CountingApi::chat_request("hello", R"(,"stream":true,"max_tokens":5)"), reply);
  EXPECT_EQ(held, "nnnnnnnn");  // the role, 5 words, the end and [DONE]
}

/// What many tokens were, when a text that was held back comes.
TEST(Completer, LongEventsAreWrittenWhileOthersGoOn) {
  CountingApi api;
  FakeReply reply;
  std::string held;
  reply.on_event = [&] { held += api.engine_lock.is_held_here() ? 'y' : 'n'; };
  const std::string prompt(21, 'x');  // 24 tokens with the roles, so that the answer has 22
  const std::string text = content_of(api.chat(prompt));
  const std::string more = R"(,"stream":true,"logprobs":true,"top_logprobs":20,"stop":[")" +
                           text.substr(0, text.size() - 8) + "no\"]";
  api.handle(CountingApi::chat_request(prompt, more), reply);
  EXPECT_EQ(reply.events.size(), 5u);  // the role, all of the text in two, the end and [DONE]
  EXPECT_EQ(held, "nnynn");            // the second text is short
}

TEST(Completer, AStopEndsAnAnswer) {
  CountingApi api;
  FakeReply reply;
  reply.on_event = [&] {
    if (reply.events.size() == 4) api.stop.request_stop();
  };
  EXPECT_THROW(api.handle(CountingApi::chat_request("hello", R"(,"stream":true)"), reply),
               Interrupted);
  EXPECT_LE(reply.events.size(), 5u);
  EXPECT_EQ(api.completer.num_sessions(), 0);
}

}  // namespace
}  // namespace predgen::serve
