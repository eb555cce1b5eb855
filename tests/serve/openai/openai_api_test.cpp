#include "serve/openai/openai_api.h"

#include <gtest/gtest.h>

#include <thread>
#include <tuple>

#include "core/json.h"
#include "core/sha256.h"
#include "tests/fakes/fake_api.h"
#include "tests/serve/http/fake_reply.h"

namespace predgen::serve {
namespace {

const std::vector<std::string> kWords{" one",   " two", " three", " four",
                                      " five.", " six", " seven"};

/// Counts on from the number of the prompt's tokens, and ends at the 23rd one of the whole.
TokenId next_word(TokenSpan history) {
  if (history.size() % 23 == 0) return FakeTokenizer::kEnd;
  return FakeTokenizer::kFirstWord + static_cast<TokenId>(history.size() % kWords.size());
}

struct Api : FakeApi {
  explicit Api(const ServeConfig& wanted = {}) : FakeApi(kWords, wanted, next_word) {}

  void handle(const HttpRequest& request, FakeReply& reply) {
    api.handle(request, reply, stop.get_token());
  }
  HttpAnswer ask(const HttpRequest& request) {
    FakeReply reply;
    handle(request, reply);
    EXPECT_EQ(reply.answers.size(), 1u);
    return reply.answers.at(0);
  }
  Json chat(const std::string& content, const std::string& more = "") {
    return Json::parse(ask(chat_request(content, more)).body);
  }
  static HttpRequest chat_request(const std::string& content, const std::string& more = "") {
    const Json messages = Json::array({{{"role", "user"}, {"content", content}}});
    return {.method = "POST",
            .path = "/v1/chat/completions",
            .authorization = "",
            .origin = "",
            .body = R"({"model":"m","messages":)" + messages.dump() + more + "}"};
  }
  std::string error_code(const HttpRequest& request, int status) {
    const HttpAnswer answer = ask(request);
    EXPECT_EQ(answer.status, status) << answer.body;
    return Json::parse(answer.body)["error"]["code"].get<std::string>();
  }
  std::string metric(const std::string& name) {
    const std::string text = ask({.method = "GET", .path = "/metrics"}).body;
    const size_t begin = text.find("\n" + name + " ");
    EXPECT_NE(begin, std::string::npos) << name << "\n" << text;
    const size_t value = begin + name.size() + 2;
    return text.substr(value, text.find('\n', value) - value);
  }

  std::stop_source stop;
};

std::string text_of(const Json& answer) {
  return answer["choices"][0]["message"]["content"].get<std::string>();
}

TEST(OpenAiApi, WhoComesWhileTheServerStopsIsSentElsewhere) {
  Api api;
  const HttpAnswer health = api.ask({.method = "GET", .path = "/health", .is_late = true});
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.body, R"({"status":"draining"})");
  HttpRequest late = Api::chat_request("hello");
  late.is_late = true;
  EXPECT_EQ(api.error_code(late, 503), "server_stopping");
  EXPECT_EQ(api.ask({.method = "GET", .path = "/metrics", .is_late = true}).status, 200);
  EXPECT_EQ(api.ask({.method = "GET", .path = "/health"}).status, 200);
}

TEST(OpenAiApi, AnswersAChat) {
  Api api;
  const Json answer = api.chat("hello");  // 8 tokens with the roles
  EXPECT_EQ(text_of(answer),
            " two three four five. six seven one two three four five. six seven one two");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["model"], "m");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 8);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 16);  // with the stop token
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST(OpenAiApi, LimitsAndStopStringsEndAnAnswer) {
  Api api;
  const Json cut = api.chat("hello", R"(,"max_tokens":3)");
  EXPECT_EQ(text_of(cut), " two three four");
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  const Json stopped = api.chat("hello", R"(,"stop":["e fo"])");
  EXPECT_EQ(text_of(stopped), " two thre");
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(stopped["usage"]["completion_tokens"], 3);
}

TEST(OpenAiApi, APredictionSavesPassesAndChangesNothing) {
  const auto answer = [](const std::string& more) {
    Api api;
    const Json json = api.chat("hello", more);
    const Json& details = json["usage"]["completion_tokens_details"];
    return std::tuple(text_of(json), std::stoi(api.metric("predgen_forward_passes_total")),
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

TEST(OpenAiApi, StreamsTheSameText) {
  Api api;
  const std::string whole = text_of(api.chat("hello"));
  FakeReply reply;
  api.handle(
      Api::chat_request("hello", R"(,"stream":true,"stream_options":{"include_usage":true})"),
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

TEST(OpenAiApi, GoesOnWithATextOrIds) {
  Api api;
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

TEST(OpenAiApi, SamplingDrawsByItsSeed) {
  Api api;
  const auto drawn = [&](int seed) {
    return text_of(api.chat("hello", fmt::format(R"(,"temperature":2,"seed":{})", seed)));
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  api.defaults.not_honoured = "typical_p";
  EXPECT_EQ(api.error_code(Api::chat_request("hello", R"(,"temperature":1)"), 400),
            "invalid_value");
  EXPECT_EQ(api.error_code(Api::chat_request("hello", R"(,"top_p":0)"), 400), "invalid_value");
}

TEST(OpenAiApi, TheNextRequestOfAConversationFindsItsPrefixCached) {
  Api api;
  const std::string answer = text_of(api.chat("hello"));
  const Json messages = Json::array({{{"role", "user"}, {"content", "hello"}},
                                     {{"role", "assistant"}, {"content", answer}},
                                     {{"role", "user"}, {"content", "more"}}});
  HttpRequest next = Api::chat_request("");
  next.body = R"({"model":"m","messages":)" + messages.dump() + "}";
  const Json usage = Json::parse(api.ask(next).body)["usage"];
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 8 + 15);  // not the stop token
  EXPECT_EQ(api.metric("predgen_prefix_cache_hits_total"), "23");
  EXPECT_EQ(api.metric("predgen_prefix_cache_queries_total"),
            std::to_string(8 + usage["prompt_tokens"].get<int>()));
}

TEST(OpenAiApi, RefusesWhatItCannotAnswer) {
  Api api;
  HttpRequest other = Api::chat_request("hello");
  other.body.replace(other.body.find("\"m\""), 3, "\"gpt\"");
  EXPECT_EQ(api.error_code(other, 404), "model_not_found");
  EXPECT_EQ(api.error_code(Api::chat_request(std::string(300, 'a')), 400),
            "context_length_exceeded");
  EXPECT_EQ(api.error_code(Api::chat_request("hello", R"(,"max_tokens":249)"), 400),
            "context_length_exceeded");
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/v1/nothing"}, 404), "unknown_url");
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/v1/completions"}, 405),
            "method_not_allowed");
  HttpRequest broken = Api::chat_request("hello");
  broken.body = "{\"model\": \xff";  // which the answer quotes
  EXPECT_EQ(Json::parse(api.ask(broken).body)["error"]["type"], "invalid_request_error");
  HttpRequest from_page = Api::chat_request("hello");
  from_page.origin = "http://evil.example";
  EXPECT_EQ(api.error_code(from_page, 403), "origin_not_allowed");
  const HttpAnswer answer = api.ask({.method = "PUT", .path = "/v1/models"});
  EXPECT_EQ(answer.headers, (std::vector<std::pair<std::string, std::string>>{{"Allow", "GET"}}));
  EXPECT_EQ(api.model.num_passes, 0);
}

TEST(OpenAiApi, BlamesWhatAsksForTooMuch) {
  Api api;
  const auto blamed = [&](const std::string& content, const std::string& more) {
    const Json error = api.chat(content, more)["error"];
    EXPECT_EQ(error["code"], "context_length_exceeded");
    EXPECT_NE(error["message"].get<std::string>().find("256"), std::string::npos) << error;
    return error["param"].get<std::string>();
  };
  EXPECT_EQ(blamed("hello", R"(,"max_tokens":249)"), "max_tokens");
  EXPECT_EQ(blamed("hello", R"(,"max_completion_tokens":3000)"), "max_completion_tokens");
  EXPECT_EQ(blamed(std::string(300, 'a'), ""), "messages");
  EXPECT_EQ(blamed(std::string(300, 'a'), R"(,"max_tokens":3000)"), "messages");
  EXPECT_EQ(Api::chat_request("hello", R"(,"max_tokens":248)").method, "POST");
  EXPECT_EQ(api.ask(Api::chat_request("hello", R"(,"max_tokens":248)")).status, 200);
}

TEST(OpenAiApi, AnUnknownPathIsToldTheOthers) {
  Api api;
  const auto told = [&](const std::string& path) {
    return Json::parse(api.ask({.method = "GET", .path = path}).body)["error"]["message"]
        .get<std::string>();
  };
  for (const char* path : {"POST /v1/chat/completions", "GET /v1/models", "GET /health"}) {
    EXPECT_NE(told("/v1/nothing").find(path), std::string::npos) << told("/v1/nothing");
  }
  EXPECT_LT(told("/" + std::string(10'000, 'x')).size(), 1000u);
}

TEST(OpenAiApi, WithoutAKeyTheHostIsNoNameOfTheWorld) {
  Api api;
  const auto get = [&](const std::string& path, const std::string& host) {
    HttpRequest request{.method = "GET", .path = path};
    request.host = host;
    return api.ask(request).status;
  };
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "192.168.1.7", ""}) {
    EXPECT_EQ(get("/v1/models", host), 200) << host;
  }
  EXPECT_EQ(get("/v1/models", "predgen:8080"), 200) << "a name of a network of containers";
  for (const char* path : {"/v1/models", "/metrics", "/", "/v1/realtime"}) {
    EXPECT_EQ(get(path, "evil.example:8080"), 403) << path;
  }
  EXPECT_EQ(get("/health", "evil.example"), 403);
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  Api with_keys(config);
  HttpRequest named{.method = "GET", .path = "/v1/models", .authorization = "Bearer key"};
  named.host = "home.example";
  EXPECT_EQ(with_keys.ask(named).status, 200);
}

TEST(OpenAiApi, APenaltyOnRepetitionCountsInGreedyAnswers) {
  Api api;
  // The fake model's likeliest word comes again after seven; with the penalty others are before it.
  const std::string plain = text_of(api.chat("hello"));
  const std::string punished = text_of(api.chat("hello", R"(,"repetition_penalty":50)"));
  EXPECT_NE(punished, plain);
  EXPECT_EQ(punished, text_of(api.chat("hello", R"(,"repetition_penalty":50,"temperature":0)")));
  EXPECT_EQ(plain, text_of(api.chat("hello", R"(,"repetition_penalty":1)")));
  const std::string predicted = R"(,"prediction":{"type":"content","content":")" + plain + "\"}";
  EXPECT_EQ(punished, text_of(api.chat("hello", R"(,"repetition_penalty":50)" + predicted)));
  api.defaults.not_honoured = "typical_p";  // concerns drawing alone
  EXPECT_EQ(punished, text_of(api.chat("hello", R"(,"repetition_penalty":50)")));
}

TEST(OpenAiApi, PagesOfThisServerMayAsk) {
  ServeConfig config;
  Api api(config);
  const auto asked_by = [](const std::string& origin, const std::string& host) {
    HttpRequest request = Api::chat_request("hello");
    request.origin = origin;
    request.host = host;
    return request;
  };
  EXPECT_EQ(api.ask(asked_by("http://127.0.0.1:80", "127.0.0.1:80")).status, 200);
  EXPECT_EQ(api.ask(asked_by("http://LOCALHOST:80", "localhost:80")).status, 200);
  EXPECT_EQ(api.ask(asked_by("https://[::1]:80", "[::1]:80")).status, 200);
  for (const char* origin :
       {"http://127.0.0.1:81", "http://127.0.0.1", "null", "file://127.0.0.1:80", "127.0.0.1:80",
        "http://127.0.0.1:80.evil.example"}) {
    EXPECT_EQ(api.error_code(asked_by(origin, "127.0.0.1:80"), 403), "origin_not_allowed");
  }
  // A name that somebody else lets mean this machine.
  EXPECT_EQ(api.error_code(asked_by("http://evil.example", "evil.example"), 403),
            "host_not_allowed");
  config.api_keys_sha256 = {sha256_hex("key")};
  Api with_keys(config);
  HttpRequest named = asked_by("https://home.example", "home.example");
  named.authorization = "Bearer key";
  EXPECT_EQ(with_keys.ask(named).status, 200);
}

TEST(OpenAiApi, HasAPageThatNeedsNoKey) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  Api api(config);
  const HttpAnswer page = api.ask({.method = "GET", .path = "/"});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_EQ(page.body.find("http"), std::string::npos) << "nothing comes from elsewhere";
  for (const char* path : {"/page/style.css", "/page/page.js", "/page/microphone.js",
                           "/page/player.js", "/page/waterfall.js", "/page/load.js"}) {
    EXPECT_NE(page.body.find(fmt::format("\"{}\"", path)), std::string::npos) << path;
    EXPECT_EQ(api.ask({.method = "GET", .path = path}).status, 200) << path;
  }
  EXPECT_EQ(api.error_code({.method = "POST", .path = "/"}, 405), "method_not_allowed");
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/page/other.js"}, 401), "missing_api_key");
}

TEST(OpenAiApi, RealtimeIsForWebSocketsOfThisModel) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  config.realtime.max_sessions = 1;
  Api api(config);
  HttpRequest request{.method = "GET", .path = "/v1/realtime"};
  EXPECT_EQ(api.error_code(request, 401), "missing_api_key");
  request.protocols = "realtime, openai-insecure-api-key.kez";
  EXPECT_EQ(api.error_code(request, 401), "invalid_api_key");
  request.protocols = "realtime, openai-insecure-api-key.key";
  EXPECT_EQ(api.error_code(request, 426), "upgrade_required");
  request.wants_web_socket = true;
  request.query = "model=gpt-realtime";
  EXPECT_EQ(api.error_code(request, 404), "model_not_found");
  for (const char* query : {"model=m", "model=%6d", "a=b&model=m", ""}) {
    request.query = query;
    FakeReply reply;
    api.handle(request, reply);
    EXPECT_EQ(reply.protocols, std::vector<std::string>{"realtime"}) << query;
  }
  EXPECT_EQ(api.realtime.num_sessions(), 0);
}

TEST(OpenAiApi, AnswersNothingButHealthWithoutAKey) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  Api api(config);
  for (const char* path : {"/v1/models", "/v1/chat/completions", "/metrics", "/v1/nothing"}) {
    EXPECT_EQ(api.error_code({.method = "GET", .path = path}, 401), "missing_api_key") << path;
  }
  EXPECT_EQ(api.ask({.method = "GET", .path = "/health"}).status, 200);
  HttpRequest request = Api::chat_request("hello");
  request.authorization = "Bearer key";
  EXPECT_EQ(api.ask(request).status, 200);
  request.authorization = "Bearer kez";
  EXPECT_EQ(api.error_code(request, 401), "invalid_api_key");
}

TEST(OpenAiApi, ListsItsModel) {
  Api api;
  const Json list = Json::parse(api.ask({.method = "GET", .path = "/v1/models"}).body);
  EXPECT_EQ(list["data"][0]["id"], "m");
  EXPECT_EQ(Json::parse(api.ask({.method = "GET", .path = "/v1/models/m"}).body), list["data"][0]);
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/v1/models/x"}, 404), "unknown_url");
}

TEST(OpenAiApi, RequestsOfSeveralThreadsGetWhatOneAloneGets) {
  const std::vector<std::string> prompts{"a", "hello", "hello there", "somebody else"};
  std::vector<std::string> alone, together(prompts.size());
  for (const std::string& prompt : prompts) alone.push_back(text_of(Api().chat(prompt)));
  Api api;
  std::vector<FakeReply> replies(prompts.size());
  std::vector<std::jthread> threads;
  {
    const Baton::Hold hold(api.baton);  // until all have come
    for (size_t i = 0; i < prompts.size(); ++i) {
      threads.emplace_back([&, i] { api.handle(Api::chat_request(prompts[i]), replies[i]); });
    }
    while (api.baton.num_waiting() < std::ssize(prompts)) std::this_thread::yield();
    EXPECT_EQ(api.completer.num_sessions(), 4);
  }
  threads.clear();
  int64_t num_tokens = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const Json answer = Json::parse(replies[i].answers.at(0).body);
    EXPECT_EQ(text_of(answer), alone[i]);
    num_tokens += answer["usage"]["completion_tokens"].get<int64_t>();
  }
  EXPECT_LT(api.model.num_passes, num_tokens / 2);
}

TEST(OpenAiApi, TooManySessionsAreRefused) {
  ServeConfig config;
  config.max_sessions = 1;
  Api api(config);
  FakeReply reply;
  std::string code;
  reply.on_event = [&] {
    if (code.empty()) code = api.error_code(Api::chat_request("hello"), 429);
  };
  api.handle(Api::chat_request("hello", R"(,"stream":true)"), reply);
  EXPECT_EQ(code, "session_limit_reached");
  EXPECT_EQ(reply.events.back(), "[DONE]");
  EXPECT_EQ(api.ask(Api::chat_request("hello")).status, 200);
}

TEST(OpenAiApi, NothingIsGeneratedForAClientThatLeft) {
  Api api;
  FakeReply reply;
  reply.on_event = [&] { reply.has_left = reply.events.size() == 4; };  // the role and 3 words
  api.handle(Api::chat_request("hello", R"(,"stream":true)"), reply);
  EXPECT_EQ(api.metric("predgen_generated_tokens_total"), "3");
  EXPECT_EQ(api.metric("predgen_active_sessions"), "0");
}

TEST(OpenAiApi, NobodyWaitsForASlowReader) {
  Api api;
  FakeReply reply;
  std::string held;  // whether others had to wait, each time that the client was waited for
  reply.is_busy = true;
  reply.on_flush = [&] { held += api.baton.is_held_here() ? 'y' : 'n'; };
  api.handle(Api::chat_request("hello", R"(,"stream":true,"max_tokens":5)"), reply);
  EXPECT_EQ(held, "nnnnnnnn");  // the role, 5 words, the end and [DONE]
}

/// What many tokens were, when a text that was held back comes.
TEST(OpenAiApi, LongEventsAreWrittenWhileOthersGoOn) {
  Api api;
  FakeReply reply;
  std::string held;
  reply.on_event = [&] { held += api.baton.is_held_here() ? 'y' : 'n'; };
  const std::string prompt(21, 'x');  // 24 tokens with the roles, so that the answer has 22
  const std::string text = text_of(api.chat(prompt));
  const std::string more = R"(,"stream":true,"logprobs":true,"top_logprobs":20,"stop":[")" +
                           text.substr(0, text.size() - 8) + "no\"]";
  api.handle(Api::chat_request(prompt, more), reply);
  EXPECT_EQ(reply.events.size(), 5u);  // the role, all of the text in two, the end and [DONE]
  EXPECT_EQ(held, "nnynn");            // the second text is short
}

TEST(OpenAiApi, MetricsWaitForNobody) {
  Api api;
  const Baton::Hold hold(api.baton);
  EXPECT_EQ(api.ask({.method = "GET", .path = "/metrics"}).status, 200);
}

TEST(OpenAiApi, AClientLearnsNothingOfWhatOthersAsked) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("one"), sha256_hex("two")};
  Api api(config);
  const auto cached = [&](const std::string& key) {
    HttpRequest request = Api::chat_request("my PIN is 1234");
    request.authorization = "Bearer " + key;
    return Json::parse(api.ask(request).body)["usage"]["prompt_tokens_details"]["cached_tokens"];
  };
  EXPECT_EQ(cached("one"), 0);
  EXPECT_EQ(cached("two"), 0);
  EXPECT_GT(cached("one"), 10);
  Api open;
  const auto cached_at = [&](const std::string& peer) {
    HttpRequest request = Api::chat_request("my PIN is 1234");
    request.peer = peer;
    return Json::parse(open.ask(request).body)["usage"]["prompt_tokens_details"]["cached_tokens"];
  };
  EXPECT_EQ(cached_at("192.0.2.1"), 0);
  EXPECT_EQ(cached_at("192.0.2.2"), 0);
  EXPECT_GT(cached_at("192.0.2.1"), 10);
}

TEST(OpenAiApi, AStopEndsAnAnswer) {
  Api api;
  FakeReply reply;
  reply.on_event = [&] {
    if (reply.events.size() == 4) api.stop.request_stop();
  };
  EXPECT_THROW(api.handle(Api::chat_request("hello", R"(,"stream":true)"), reply), Interrupted);
  EXPECT_LE(reply.events.size(), 5u);
  EXPECT_EQ(api.completer.num_sessions(), 0);
}

TEST(OpenAiApi, AFailureTellsTheClientNothingOfItself) {
  Api api;
  api.engine.observe_passes([](const PassSize&) { throw Error("secret path /home"); });
  const HttpAnswer answer = api.ask(Api::chat_request("hello"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
  FakeReply reply;
  api.handle(Api::chat_request("hello", R"(,"stream":true)"), reply);
  EXPECT_EQ(Json::parse(reply.events.back())["error"]["type"], "server_error");
}

TEST(OpenAiApi, MeasuresWhatItDoes) {
  Api api;
  api.ask(Api::chat_request("hello"));
  api.ask({.method = "GET", .path = "/nothing"});
  const auto request_metric = [&](const std::string& path, int status) {
    return api.metric(
        fmt::format("predgen_requests_total{{path=\"{}\",status=\"{}\"}}", path, status));
  };
  EXPECT_EQ(request_metric("/v1/chat/completions", 200), "1");
  EXPECT_EQ(request_metric("other", 404), "1");
  EXPECT_EQ(api.metric("predgen_generated_tokens_total"), "16");
  EXPECT_EQ(api.metric("predgen_forward_passes_total"), "16");
  EXPECT_EQ(api.metric("predgen_pass_sequences_total"), "16");
  EXPECT_EQ(api.metric("predgen_pass_tokens_total"), "23");
  EXPECT_EQ(api.metric("predgen_time_to_first_token_seconds_count"), "1");
  EXPECT_EQ(api.metric("predgen_time_to_first_sentence_seconds_bucket{le=\"+Inf\"}"), "1");
  EXPECT_NE(api.metric("predgen_kv_positions"), "0");  // of the kept conversation
}

}  // namespace
}  // namespace predgen::serve
