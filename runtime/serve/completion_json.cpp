#include "runtime/serve/completion_json.h"

#include <ctime>

#include "runtime/serve/new_id.h"

namespace predgen {
namespace {

Json usage(const CompletionUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

const char* finish_reason(const CompletionResult& result) {
  return result.is_cut ? "length" : "stop";
}

}  // namespace

CompletionJson::CompletionJson(bool is_chat, std::string model)
    : is_chat_(is_chat),
      model_(std::move(model)),
      created_(std::time(nullptr)),
      id_(new_id(is_chat ? "chatcmpl-" : "cmpl-")) {}

Json CompletionJson::object(bool is_chunk, Json choices) const {
  const char* chat = is_chunk ? "chat.completion.chunk" : "chat.completion";
  return {{"id", id_},
          {"object", is_chat_ ? chat : "text_completion"},
          {"created", created_},
          {"model", model_},
          {"choices", std::move(choices)}};
}

Json CompletionJson::whole(const std::string& text, const CompletionResult& result) const {
  Json choice{{"index", 0}, {"finish_reason", finish_reason(result)}, {"logprobs", nullptr}};
  if (is_chat_) {
    choice["message"] = {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}};
  } else {
    choice["text"] = text;
  }
  Json answer = object(/*is_chunk=*/false, Json::array({std::move(choice)}));
  answer["usage"] = usage(result.usage);
  return answer;
}

Json CompletionJson::chunk(Json delta, const Json& finish) const {
  Json choice{{"index", 0}, {"finish_reason", finish}, {"logprobs", nullptr}};
  if (is_chat_) {
    choice["delta"] = std::move(delta);
  } else {
    choice["text"] = delta.value("content", "");
  }
  return object(/*is_chunk=*/true, Json::array({std::move(choice)}));
}

Json CompletionJson::role_chunk() const {
  return chunk({{"role", "assistant"}, {"content", ""}}, nullptr);
}

Json CompletionJson::text_chunk(const std::string& text) const {
  return chunk({{"content", text}}, nullptr);
}

Json CompletionJson::last_chunk(const CompletionResult& result) const {
  return chunk(Json::object(), finish_reason(result));
}

Json CompletionJson::usage_chunk(const CompletionResult& result) const {
  Json last = object(/*is_chunk=*/true, Json::array());
  last["usage"] = usage(result.usage);
  return last;
}

}  // namespace predgen
