#include "serve/openai/request_parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/files.h"
#include "serve/api_error.h"
#include "serve/openai/completion_request.h"

namespace predgen::serve {
namespace {

bool is_for(const RequestParameters& parameters, Endpoint endpoint) {
  return std::ranges::count(parameters.endpoints, endpoint) > 0;
}

std::string body(Endpoint endpoint, const std::string& name, const Json& value) {
  Json request{{"model", "m"}};
  if (endpoint == Endpoint::kChat) {
    request["messages"] = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  } else {
    request["prompt"] = "Hi";
  }
  request[name] = value;
  return request.dump();
}

CompletionRequest parse(Endpoint endpoint, const std::string& text) {
  return endpoint == Endpoint::kChat ? parse_chat_request(text) : parse_completion_request(text);
}

TEST(RequestParameters, TheDocumentHasTheTable) {
  const std::string document = read_file("docs/serve.md");
  EXPECT_NE(document.find(parameter_table()), std::string::npos)
      << "docs/serve.md must have this table:\n"
      << parameter_table();
}

TEST(RequestParameters, EachIsKnownAndNullIsAsGoodAsNothing) {
  for (const auto endpoint : {Endpoint::kChat, Endpoint::kCompletions}) {
    for (const RequestParameters& parameters : request_parameters()) {
      for (const std::string& name : parameters.names) {
        if (!is_for(parameters, endpoint)) continue;
        const bool is_needed = name == "model" || name == "messages" || name == "prompt";
        if (is_needed) continue;
        const CompletionRequest request = parse(endpoint, body(endpoint, name, nullptr));
        EXPECT_TRUE(request.ignored.empty()) << name;
      }
    }
  }
}

TEST(RequestParameters, AreIgnoredOrRefusedAsTheTableSays) {
  const std::vector<Json> values{Json(true), Json(7), Json("x"), Json({{"a", 1}}),
                                 Json::array({1})};
  for (const auto endpoint : {Endpoint::kChat, Endpoint::kCompletions}) {
    for (const RequestParameters& parameters : request_parameters()) {
      for (const std::string& name : parameters.names) {
        if (!is_for(parameters, endpoint) || parameters.taking == Taking::kHonoured) continue;
        for (const Json& value : parameters.neutral) parse(endpoint, body(endpoint, name, value));
        for (const Json& value : values) {
          const std::string text = body(endpoint, name, value);
          const bool is_neutral = std::ranges::count(parameters.neutral, value) > 0;
          if (parameters.taking == Taking::kIgnored || is_neutral) {
            EXPECT_NO_THROW(parse(endpoint, text)) << text;
            continue;
          }
          try {
            parse(endpoint, text);
            ADD_FAILURE() << text << " is taken";
          } catch (const ApiError& error) {
            EXPECT_EQ(error.status(), 400);
            EXPECT_EQ(error.param(), name);
            EXPECT_EQ(error.code(), "unsupported_value");
          }
        }
      }
    }
  }
}

TEST(RequestParameters, NoNameIsThereTwice) {
  for (const auto endpoint : {Endpoint::kChat, Endpoint::kCompletions}) {
    std::vector<std::string> names;
    for (const RequestParameters& parameters : request_parameters()) {
      if (!is_for(parameters, endpoint)) continue;
      names.insert(names.end(), parameters.names.begin(), parameters.names.end());
    }
    for (const std::string& name : names) EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  }
}

}  // namespace
}  // namespace predgen::serve
