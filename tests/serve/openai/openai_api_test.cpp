#include "serve/openai/openai_api.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/hash.h"
#include "core/json.h"
#include "core/version.h"
#include "tests/serve/openai/counting_api.h"

namespace predgen::serve {
namespace {

TEST(OpenAiApi, WhoComesWhileTheServerStopsIsSentElsewhere) {
  CountingApi api;
  const HttpAnswer health = api.ask({.method = "GET", .path = "/health", .is_late = true});
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.body, R"({"status":"draining"})");
  HttpRequest late = CountingApi::chat_request("hello");
  late.is_late = true;
  EXPECT_EQ(api.error_code(late, 503), "server_stopping");
  EXPECT_EQ(api.ask({.method = "GET", .path = "/metrics", .is_late = true}).status, 200);
  EXPECT_EQ(api.ask({.method = "GET", .path = "/health"}).status, 200);
}

TEST(OpenAiApi, HealthTellsTheVersion) {
  CountingApi api;
  const Json health = Json::parse(api.ask({.method = "GET", .path = "/health"}).body);
  EXPECT_EQ(health, (Json{{"status", "ok"}, {"version", program_version()}}));
}

TEST(OpenAiApi, RefusesWhatItCannotAnswer) {
  CountingApi api;
  HttpRequest other = CountingApi::chat_request("hello");
  other.body.replace(other.body.find("\"m\""), 3, "\"gpt\"");
  EXPECT_EQ(api.error_code(other, 404), "model_not_found");
  EXPECT_EQ(api.error_code(CountingApi::chat_request(std::string(300, 'a')), 400),
            "context_length_exceeded");
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/v1/nothing"}, 404), "unknown_url");
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/v1/completions"}, 405),
            "method_not_allowed");
  HttpRequest broken = CountingApi::chat_request("hello");
  broken.body = "{\"model\": \xff";  // which the answer quotes
  EXPECT_EQ(Json::parse(api.ask(broken).body)["error"]["type"], "invalid_request_error");
  HttpRequest from_page = CountingApi::chat_request("hello");
  from_page.origin = "http://evil.example";
  EXPECT_EQ(api.error_code(from_page, 403), "origin_not_allowed");
  const HttpAnswer answer = api.ask({.method = "PUT", .path = "/v1/models"});
  EXPECT_EQ(answer.headers, (std::vector<std::pair<std::string, std::string>>{{"Allow", "GET"}}));
  EXPECT_EQ(api.error_code({.method = "HEAD", .path = "/v1/completions"}, 405),
            "method_not_allowed");
  EXPECT_EQ(api.model.num_passes, 0);
}

TEST(OpenAiApi, BlamesWhatAsksForTooMuch) {
  CountingApi api;
  const auto blamed = [&](const std::string& content, const std::string& more) {
    const Json error = api.chat(content, more)["error"];
    EXPECT_EQ(error["code"], "context_length_exceeded");
    EXPECT_NE(error["message"].get<std::string>().find("256"), std::string::npos) << error;
    return error["param"].get<std::string>();
  };
  EXPECT_EQ(blamed(std::string(300, 'a'), ""), "messages");
  EXPECT_EQ(blamed(std::string(300, 'a'), R"(,"max_tokens":3000)"), "messages");
}

TEST(OpenAiApi, ALimitBeyondTheContextIsTheContexts) {
  CountingApi api;
  for (const char* limit : {"248", "249", "3000", "-1", "1e30"}) {
    const Json answer = api.chat("hello", fmt::format(R"(,"max_tokens":{})", limit));
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop") << limit;
  }
}

TEST(OpenAiApi, IgnoredParametersAreNamed) {
  CountingApi api;
  const auto headers = [&](const std::string& more) {
    FakeReply reply;
    api.handle(CountingApi::chat_request("hello", more), reply);
    return reply.headers;
  };
  const std::string odd = R"(,"colour":1,"options":{"shade":1},"bad\r\nname: x":1,"user":"u")";
  const std::vector<std::pair<std::string, std::string>> named{
      {"X-Predgen-Ignored", "colour, options.shade, .."}};
  EXPECT_EQ(headers(odd), named);
  EXPECT_EQ(headers(odd + R"(,"stream":true)"), named);
  EXPECT_TRUE(headers(R"(,"user":"u")").empty());
}

TEST(OpenAiApi, AnUnknownPathIsToldTheOthers) {
  CountingApi api;
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
  CountingApi api;
  const auto get = [&](const std::string& path, const std::string& host) {
    HttpRequest request{.method = "GET", .path = path};
    request.host = host;
    return api.ask(request).status;
  };
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "192.168.1.7", ""}) {
    EXPECT_EQ(get("/v1/models", host), 200) << host;
  }
  EXPECT_EQ(get("/v1/models", "predgen:8080"), 200) << "a name of a network of containers";
  for (const char* host : {"host.docker.internal:8080", "gateway.docker.internal", "Pi.LAN",
                           "homeassistant.local:8123", "box.home.arpa", "a.localhost"}) {
    EXPECT_EQ(get("/v1/models", host), 200) << host << " can belong to nobody else";
  }
  for (const char* host :
       {"local.", ".local", "evil.local.example", "mylan.example", "a.internal.example"}) {
    EXPECT_EQ(get("/v1/models", host), 403) << host;
  }
  for (const char* path : {"/v1/models", "/metrics", "/", "/v1/realtime"}) {
    EXPECT_EQ(get(path, "evil.example:8080"), 403) << path;
  }
  EXPECT_EQ(get("/health", "evil.example"), 403);
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  CountingApi with_keys(config);
  HttpRequest named{.method = "GET", .path = "/v1/models", .authorization = "Bearer key"};
  named.host = "home.example";
  EXPECT_EQ(with_keys.ask(named).status, 200);
}

TEST(OpenAiApi, AllowedNamesOfThisMachineMayBeUsed) {
  ServeConfig config;
  config.allowed_hosts = {"pi.example.org"};
  CountingApi api(config);
  HttpRequest request{.method = "GET", .path = "/v1/models"};
  request.host = "PI.example.org:8080";
  EXPECT_EQ(api.ask(request).status, 200);
  request.host = "other.example.org:8080";
  const Json refusal = Json::parse(api.ask(request).body)["error"];
  EXPECT_EQ(refusal["code"], "host_not_allowed");
  EXPECT_NE(refusal["message"].get<std::string>().find("--allowed-host other.example.org,"),
            std::string::npos)
      << refusal;
}

TEST(OpenAiApi, PathsAreTakenAsTheyAreMeant) {
  CountingApi api;
  for (const char* path :
       {"/v1//chat/completions", "//v1/chat/completions", "/v1/chat/completions/",
        "/v1/chat/completions//", "/v1/chat%2Fcompletions"}) {
    HttpRequest request = CountingApi::chat_request("hello");
    request.path = path;
    EXPECT_EQ(api.ask(request).status, 200) << path;
  }
  for (const char* path :
       {"/v1/models/", "/v1/models/m/", "/v1/models/%6d", "/v1//models//m", "//"}) {
    EXPECT_EQ(api.ask({.method = "GET", .path = path}).status, 200) << path;
    EXPECT_EQ(api.ask({.method = "HEAD", .path = path}).status, 200) << path;
  }
  for (const char* path :
       {"/chat/completions", "/v1/v1/chat/completions", "/openai/deployments/m/chat/completions"}) {
    HttpRequest request = CountingApi::chat_request("hello");
    request.path = path;
    const HttpAnswer answer = api.ask(request);
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(answer.body.find("did you mean POST /v1/chat/completions?"), std::string::npos)
        << answer.body;
  }
}

TEST(OpenAiApi, AKeyIsNeededHoweverThePathIsWritten) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  CountingApi api(config);
  for (const char* path : {"//v1/models", "/v1/models/", "/health/../v1/models", "/%2Fv1/models",
                           "/page/../v1/models"}) {
    EXPECT_EQ(api.error_code({.method = "GET", .path = path}, 401), "missing_api_key") << path;
  }
  EXPECT_EQ(api.ask({.method = "GET", .path = "//health/"}).status, 200);
}

TEST(OpenAiApi, PagesOfAllowedOriginsMayAsk) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  config.allowed_origins = {"http://localhost:3000/"};
  CountingApi api(config);
  const std::pair<std::string, std::string> allowed{"Access-Control-Allow-Origin",
                                                    "http://localhost:3000"};
  HttpRequest preflight{.method = "OPTIONS", .path = "/v1/chat/completions"};
  preflight.origin = "http://localhost:3000";
  preflight.wanted_headers = "authorization,content-type,x-stainless-os";
  FakeReply asked;
  api.handle(preflight, asked);
  EXPECT_EQ(asked.answers.at(0).status, 204) << "a browser asks without the key";
  EXPECT_EQ(asked.headers.at(0), allowed);
  const auto& headers = asked.answers[0].headers;
  const std::pair<std::string, std::string> wanted{"Access-Control-Allow-Headers",
                                                   preflight.wanted_headers};
  EXPECT_EQ(std::ranges::count(headers, wanted), 1);
  HttpRequest request = CountingApi::chat_request("hello");
  request.origin = preflight.origin;
  for (const auto& [key, status] : {std::pair{"Bearer key", 200}, std::pair{"Bearer no", 401}}) {
    request.authorization = key;
    FakeReply reply;
    api.handle(request, reply);
    EXPECT_EQ(reply.answers.at(0).status, status);
    EXPECT_EQ(reply.headers.at(0), allowed) << "a page may read errors, too";
  }
  preflight.origin = "http://localhost:3001";
  FakeReply other;
  api.handle(preflight, other);
  EXPECT_EQ(other.answers.at(0).status, 403);
  EXPECT_TRUE(other.headers.empty());
  EXPECT_NE(other.answers[0].body.find("--allowed-origin http://localhost:3001"),
            std::string::npos);
}

TEST(OpenAiApi, OptionsTellWhatAPathTakes) {
  CountingApi api;
  const HttpAnswer answer = api.ask({.method = "OPTIONS", .path = "/v1/models"});
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.headers,
            (std::vector<std::pair<std::string, std::string>>{{"Allow", "GET, HEAD, OPTIONS"}}));
  EXPECT_EQ(api.error_code({.method = "OPTIONS", .path = "/v1/nothing"}, 404), "unknown_url");
}

TEST(OpenAiApi, PagesOfThisServerMayAsk) {
  ServeConfig config;
  CountingApi api(config);
  const auto asked_by = [](const std::string& origin, const std::string& host) {
    HttpRequest request = CountingApi::chat_request("hello");
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
  CountingApi with_keys(config);
  HttpRequest named = asked_by("https://home.example", "home.example");
  named.authorization = "Bearer key";
  EXPECT_EQ(with_keys.ask(named).status, 200);
}

TEST(OpenAiApi, HasAPageThatNeedsNoKey) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  CountingApi api(config);
  const HttpAnswer page = api.ask({.method = "GET", .path = "/"});
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_EQ(page.body.find("http"), std::string::npos) << "nothing comes from elsewhere";
  for (const char* path : {"/page/style.css", "/page/page.js", "/page/sound.js",
                           "/page/waterfall.js", "/page/load.js"}) {
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
  CountingApi api(config);
  HttpRequest request{.method = "GET", .path = "/v1/realtime"};
  EXPECT_EQ(api.error_code(request, 401), "missing_api_key");
  request.protocols = "realtime, openai-insecure-api-key.kez";
  EXPECT_EQ(api.error_code(request, 401), "invalid_api_key");
  request.protocols = "realtime, openai-insecure-api-key.key";
  EXPECT_EQ(api.error_code(request, 426), "upgrade_required");
  request.wants_web_socket = true;
  request.query = "model=another";
  EXPECT_EQ(api.error_code(request, 404), "model_not_found");
  for (const char* query : {"model=m", "model=%6d", "a=b&model=m", "", "model=gpt-realtime"}) {
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
  CountingApi api(config);
  for (const char* path : {"/v1/models", "/v1/chat/completions", "/metrics", "/v1/nothing"}) {
    EXPECT_EQ(api.error_code({.method = "GET", .path = path}, 401), "missing_api_key") << path;
  }
  EXPECT_EQ(api.ask({.method = "GET", .path = "/health"}).status, 200);
  HttpRequest request = CountingApi::chat_request("hello");
  request.authorization = "Bearer key";
  EXPECT_EQ(api.ask(request).status, 200);
  request.authorization = "Bearer kez";
  EXPECT_EQ(api.error_code(request, 401), "invalid_api_key");
}

TEST(OpenAiApi, ListsItsModel) {
  CountingApi api;
  const Json list = Json::parse(api.ask({.method = "GET", .path = "/v1/models"}).body);
  EXPECT_EQ(list["data"][0]["id"], "m");
  EXPECT_EQ(Json::parse(api.ask({.method = "GET", .path = "/v1/models/m"}).body), list["data"][0]);
  EXPECT_EQ(api.error_code({.method = "GET", .path = "/v1/models/x"}, 404), "model_not_found");
}

TEST(OpenAiApi, TooManySessionsAreRefused) {
  ServeConfig config;
  config.max_sessions = 1;
  CountingApi api(config);
  FakeReply reply;
  std::string code;
  reply.on_event = [&] {
    if (code.empty()) code = api.error_code(CountingApi::chat_request("hello"), 429);
  };
  api.handle(CountingApi::chat_request("hello", R"(,"stream":true)"), reply);
  EXPECT_EQ(code, "session_limit_reached");
  EXPECT_EQ(reply.events.back(), "[DONE]");
  EXPECT_EQ(api.ask(CountingApi::chat_request("hello")).status, 200);
}

TEST(OpenAiApi, MetricsWaitForNobody) {
  CountingApi api;
  const EngineLock::Hold hold(api.engine_lock);
  EXPECT_EQ(api.ask({.method = "GET", .path = "/metrics"}).status, 200);
}

TEST(OpenAiApi, AClientLearnsNothingOfWhatOthersAsked) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("one"), sha256_hex("two")};
  CountingApi api(config);
  const auto cached = [&](const std::string& key) {
    HttpRequest request = CountingApi::chat_request("my PIN is 1234");
    request.authorization = "Bearer " + key;
    return Json::parse(api.ask(request).body)["usage"]["prompt_tokens_details"]["cached_tokens"];
  };
  EXPECT_EQ(cached("one"), 0);
  EXPECT_EQ(cached("two"), 0);
  EXPECT_GT(cached("one"), 10);
  CountingApi open;
  const auto cached_at = [&](const std::string& peer) {
    HttpRequest request = CountingApi::chat_request("my PIN is 1234");
    request.peer = peer;
    return Json::parse(open.ask(request).body)["usage"]["prompt_tokens_details"]["cached_tokens"];
  };
  EXPECT_EQ(cached_at("192.0.2.1"), 0);
  EXPECT_EQ(cached_at("192.0.2.2"), 0);
  EXPECT_GT(cached_at("192.0.2.1"), 10);
}

TEST(OpenAiApi, AFailureTellsTheClientNothingOfItself) {
  CountingApi api;
  api.engine.observe_passes([](const PassSize&) { throw Error("secret path /home"); });
  const HttpAnswer answer = api.ask(CountingApi::chat_request("hello"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
  FakeReply reply;
  api.handle(CountingApi::chat_request("hello", R"(,"stream":true)"), reply);
  EXPECT_EQ(Json::parse(reply.events.back())["error"]["type"], "server_error");
}

TEST(OpenAiApi, MeasuresWhatItDoes) {
  CountingApi api;
  api.ask(CountingApi::chat_request("hello"));
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
