#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "tests/fakes/fake_api.h"
#include "tests/serve/http/fake_reply.h"

namespace predgen::serve {

inline const std::vector<std::string> kWords{" one",   " two", " three", " four",
                                             " five.", " six", " seven"};

/// Counts on from the number of the prompt's tokens, and ends at the 23rd one of the whole.
inline TokenId next_word(TokenSpan history) {
  if (history.size() % 23 == 0) return FakeTokenizer::kEnd;
  return FakeTokenizer::kFirstWord + static_cast<TokenId>(history.size() % kWords.size());
}

/// An endpoint whose model counts in words, and what one asks of it.
struct CountingApi : FakeApi {
  explicit CountingApi(const ServeConfig& wanted = {}, bool has_drafts = false)
      : FakeApi(kWords, wanted, next_word, has_drafts) {}

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

inline std::string content_of(const Json& answer) {
  return answer["choices"][0]["message"]["content"].get<std::string>();
}

}  // namespace predgen::serve
