#include "serve/openai/completion_json.h"

#include <ctime>

#include "serve/new_id.h"
#include "text/utf8.h"

namespace predgen::serve {
namespace {

Json usage_json(const CompletionUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", usage.thought_tokens},
            {"accepted_prediction_tokens", usage.accepted_tokens},
            {"rejected_prediction_tokens", usage.rejected_tokens}}}};
}

const char* finish_reason(const CompletionResult& result) {
  if (result.is_cut) return "length";
  return result.calls.empty() ? "stop" : "tool_calls";
}

/// Under the names of DeepSeek and of OpenRouter.
Json thought_json(const std::string& thought) {
  return {{"reasoning_content", thought}, {"reasoning", thought}};
}

Json call_json(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json score_json(const std::string& token, double logprob) {
  Json bytes = Json::array();
  for (const char byte : token) bytes.push_back(static_cast<unsigned char>(byte));
  return {{"token", replace_ill_formed_utf8(token)}, {"logprob", logprob}, {"bytes", bytes}};
}

/// In the shape of chats.
Json chat_scores(const std::vector<TokenScore>& scores) {
  Json list = Json::array();
  for (const TokenScore& score : scores) {
    Json one = score_json(score.token, score.logprob);
    one["top_logprobs"] = Json::array();
    for (const auto& [token, logprob] : score.top) {
      one["top_logprobs"].push_back(score_json(token, logprob));
    }
    list.push_back(std::move(one));
  }
  return {{"content", list}, {"refusal", nullptr}};
}

/// In the shape of completions.
Json text_scores(const std::vector<TokenScore>& scores) {
  Json json{{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()}};
  for (const TokenScore& score : scores) {
    json["tokens"].push_back(replace_ill_formed_utf8(score.token));
    json["token_logprobs"].push_back(score.logprob);
    Json top = Json::object();
    for (const auto& [token, logprob] : score.top) top[replace_ill_formed_utf8(token)] = logprob;
    json["top_logprobs"].push_back(std::move(top));
  }
  return json;
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

Json CompletionJson::logprobs(const std::optional<std::vector<TokenScore>>& scores) const {
  if (!scores) return nullptr;
  return is_chat_ ? chat_scores(*scores) : text_scores(*scores);
}

CompletionJson CompletionJson::choice(int64_t index) const {
  CompletionJson other = *this;
  other.index_ = index;
  return other;
}

Json CompletionJson::whole(const std::vector<CompletionChoice>& choices) const {
  Json list = Json::array();
  CompletionUsage sum = choices.front().result.usage;
  for (const CompletionChoice& each : choices) {
    const CompletionResult& result = each.result;
    if (!list.empty()) sum.add(result.usage);
    Json choice{{"index", list.size()},
                {"finish_reason", finish_reason(result)},
                {"logprobs", logprobs(each.scores)}};
    if (is_chat_) {
      const bool has_text = !each.text.empty() || result.calls.empty();
      choice["message"] = {{"role", "assistant"},
                           {"content", has_text ? Json(each.text) : Json()},
                           {"refusal", nullptr}};
      if (!each.thought.empty()) choice["message"].update(thought_json(each.thought));
      for (const ToolCall& call : result.calls) {
        choice["message"]["tool_calls"].push_back(call_json(call));
      }
    } else {
      choice["text"] = each.text;
    }
    list.push_back(std::move(choice));
  }
  Json answer = object(/*is_chunk=*/false, std::move(list));
  answer["usage"] = usage_json(sum);
  return answer;
}

Json CompletionJson::chunk(Json delta, const Json& finish,
                           const std::optional<std::vector<TokenScore>>& scores) const {
  Json choice{{"index", index_}, {"finish_reason", finish}, {"logprobs", logprobs(scores)}};
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

Json CompletionJson::thought_chunk(const std::string& thought) const {
  return chunk(thought_json(thought), nullptr);
}

Json CompletionJson::text_chunk(const std::string& text,
                                const std::optional<std::vector<TokenScore>>& scores) const {
  return chunk({{"content", text}}, nullptr, scores);
}

std::array<Json, 2> CompletionJson::call_chunks(const ToolCall& call, size_t index) const {
  Json head{{"index", index}};
  head.update(call_json({.id = call.id, .name = call.name, .arguments = ""}));
  const Json arguments{{"index", index}, {"function", {{"arguments", call.arguments}}}};
  return {chunk({{"tool_calls", Json::array({head})}}, nullptr),
          chunk({{"tool_calls", Json::array({arguments})}}, nullptr)};
}

Json CompletionJson::last_chunk(const CompletionResult& result,
                                const std::optional<std::vector<TokenScore>>& scores) const {
  return chunk(Json::object(), finish_reason(result), scores);
}

Json CompletionJson::usage_chunk(const CompletionUsage& usage) const {
  Json last = object(/*is_chunk=*/true, Json::array());
  last["usage"] = usage_json(usage);
  return last;
}

}  // namespace predgen::serve
