#include "serve/openai/completion_request.h"

#include <algorithm>
#include <limits>
#include <random>

#include "serve/api_error.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"

namespace predgen::serve {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kDefaultCompletionTokens = 16;
constexpr size_t kMaxStops = 4;
constexpr int64_t kMaxLogprobs = 20, kMaxCompletionLogprobs = 5;  // as OpenAI has it

/// A text, or a list of parts of a text.
std::string read_content(const Json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) RequestFields::fail_type(where, "a string or a list of parts", content);
  std::string text;
  for (const Json& part : content) {
    const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                         part.contains("text") && part["text"].is_string();
    if (!is_text) {
      RequestFields::fail_value(where, R"(its parts must be {"type": "text", "text": "..."})");
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

Message read_message(const Json& message, const std::string& where) {
  if (!message.is_object()) RequestFields::fail_type(where, "an object", message);
  const Json role = message.value("role", Json());
  if (role != "system" && role != "developer" && role != "user" && role != "assistant" &&
      role != "tool") {
    RequestFields::fail_value(where + ".role",
                              "must be system, developer, user, assistant or tool");
  }
  Message read{.role = role == "developer" ? "system" : role.get<std::string>(), .content = ""};
  if (role == "assistant") {
    read.tool_calls = read_tool_calls(message.value("tool_calls", Json()), where + ".tool_calls");
  }
  if (role == "tool") {
    const Json id = message.value("tool_call_id", Json());
    if (!id.is_string()) RequestFields::fail_type(where + ".tool_call_id", "a string", id);
    read.tool_call_id = id.get<std::string>();
  }
  const Json content = message.value("content", Json());
  if (!content.is_null() || read.tool_calls.empty()) {
    read.content = read_content(content, where + ".content");
  }
  return read;
}

bool has_call(const std::vector<Message>& messages, const std::string& id) {
  return std::ranges::any_of(messages, [&](const Message& message) {
    return std::ranges::any_of(message.tool_calls,
                               [&](const ToolCall& call) { return call.id == id; });
  });
}

std::vector<Message> read_messages(const Json& list) {
  if (!list.is_array()) RequestFields::fail_type("messages", "a list", list);
  if (list.empty()) RequestFields::fail_value("messages", "must not be empty");
  std::vector<Message> messages;
  for (const Json& message : list) {
    const std::string where = fmt::format("messages[{}]", messages.size());
    Message read = read_message(message, where);
    if (read.role == "tool" && !has_call(messages, read.tool_call_id)) {
      RequestFields::fail_value(where + ".tool_call_id", "no message before it has such a call");
    }
    messages.push_back(std::move(read));
  }
  return messages;
}

void read_prompt(const Json& prompt, CompletionRequest& request) {
  // A single prompt may be in a list.
  const bool is_listed = prompt.is_array() && prompt.size() == 1 && !prompt[0].is_number();
  const Json& one = is_listed ? prompt[0] : prompt;
  const auto is_id = [](const Json& id) {
    return id.is_number_unsigned() && id.get<uint64_t>() <= std::numeric_limits<TokenId>::max();
  };
  if (one.is_string()) {
    request.prompt = one.get<std::string>();
  } else if (one.is_array() && !one.empty() && std::all_of(one.begin(), one.end(), is_id)) {
    request.prompt = one.get<TokenIds>();
  } else {
    RequestFields::fail_value("prompt", "must be one text, or one list of token ids");
  }
}

std::vector<std::string> read_stop(const Json& stop) {
  if (stop.is_null()) return {};
  std::vector<std::string> strings;
  for (const Json& one : stop.is_array() ? stop : Json::array({stop})) {
    if (!one.is_string()) RequestFields::fail_type("stop", "a string or a list of strings", one);
    strings.push_back(one.get<std::string>());
    if (strings.back().empty()) RequestFields::fail_value("stop", "must not be an empty string");
  }
  if (strings.size() > kMaxStops) {
    RequestFields::fail_value("stop", fmt::format("must be at most {} strings", kMaxStops));
  }
  return strings;
}

std::string read_prediction(const Json& prediction) {
  if (prediction.is_null()) return {};
  if (!prediction.is_object()) RequestFields::fail_type("prediction", "an object", prediction);
  if (prediction.value("type", Json()) != "content") {
    RequestFields::fail_value("prediction.type", R"(must be "content")");
  }
  return read_content(prediction.value("content", Json()), "prediction.content");
}

/// Fields that both kinds of requests have.
void read_common(RequestFields& fields, CompletionRequest& request) {
  request.model = *fields.text("model", /*required=*/true);
  request.max_tokens = fields.integer("max_tokens", 1, kAny);
  request.stop = read_stop(fields.any("stop"));
  request.sampling.temperature = fields.number("temperature", 0, 2);
  request.sampling.top_p = fields.number("top_p", 0, 1);
  if (request.sampling.top_p == 0.0) {
    RequestFields::fail_value("top_p", "must be above 0, and 1 at most");
  }
  request.sampling.top_k = fields.integer("top_k", 0, kAny);
  request.sampling.min_p = fields.number("min_p", 0, 1);
  request.sampling.repetition_penalty = fields.number("repetition_penalty", 0.01, 100);
  const std::optional<int64_t> seed =
      fields.integer("seed", std::numeric_limits<int64_t>::min(), kAny);
  request.sampling.seed = seed ? static_cast<uint64_t>(*seed) : std::random_device()();
  request.stream = fields.flag("stream");
  const Json& options = fields.any("stream_options");
  if (!options.is_null() && !options.is_object()) {
    RequestFields::fail_type("stream_options", "an object", options);
  }
  if (options.is_object() && options.contains("include_usage")) {
    const Json& usage = options["include_usage"];
    if (!usage.is_boolean()) {
      RequestFields::fail_type("stream_options.include_usage", "a boolean", usage);
    }
    request.include_usage = usage.get<bool>();
  }
  fields.expect_neutral("n", {Json(1)});
  fields.expect_neutral("presence_penalty", {Json(0)});
  fields.expect_neutral("frequency_penalty", {Json(0)});
  fields.expect_neutral("logit_bias", {Json::object()});
  for (const char* name :
       {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}) {
    fields.ignore(name);
  }
}

}  // namespace

CompletionRequest parse_chat_request(std::string_view body) {
  RequestFields fields(body);
  CompletionRequest request;
  read_common(fields, request);
  request.prompt = read_messages(fields.any("messages", /*required=*/true));
  const auto newer_name = fields.integer("max_completion_tokens", 1, kAny);
  if (newer_name) {
    request.max_tokens = newer_name;
    request.max_tokens_name = "max_completion_tokens";
  }
  const auto top = fields.integer("top_logprobs", 0, kMaxLogprobs);
  if (fields.flag("logprobs")) {
    request.logprobs = top.value_or(0);
  } else if (top.value_or(0) > 0) {
    RequestFields::fail_value("top_logprobs", "needs logprobs");
  }
  fields.expect_neutral("response_format", {Json({{"type", "text"}})});
  fields.expect_neutral("modalities", {Json::array({"text"})});
  const std::optional<ToolSet> tools = read_tools(fields, ToolShape::kNested);
  if (read_tool_choice(fields).value_or(true)) request.tools = tools.value_or(ToolSet());
  request.prediction = read_prediction(fields.any("prediction"));
  const bool is_asked = !fields.any("parallel_tool_calls").is_null();
  if (is_asked) request.has_many_calls = fields.flag("parallel_tool_calls");
  fields.finish();
  return request;
}

CompletionRequest parse_completion_request(std::string_view body) {
  RequestFields fields(body);
  CompletionRequest request;
  read_common(fields, request);
  read_prompt(fields.any("prompt", /*required=*/true), request);
  if (!request.max_tokens) request.max_tokens = kDefaultCompletionTokens;
  fields.expect_neutral("best_of", {Json(1)});
  fields.expect_neutral("echo", {Json(false)});
  request.logprobs = fields.integer("logprobs", 0, kMaxCompletionLogprobs);
  fields.expect_neutral("suffix", {Json("")});
  fields.finish();
  return request;
}

}  // namespace predgen::serve
