#include "serve/openai/completion_api.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "serve/api_error.h"
#include "serve/new_id.h"
#include "serve/openai/completion_request.h"
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

namespace {

constexpr size_t kFewScores = 16;
constexpr size_t kMaxNoted = 64;

using Scores = std::optional<std::vector<TokenScore>>;

Scores first_scores(const CompletionRequest& request) {
  return request.logprobs ? Scores(std::in_place) : std::nullopt;
}

void add(Scores& scores, std::vector<TokenScore>& more) {
  std::ranges::move(more, std::back_inserter(scores.value()));
}

}  // namespace

std::string shown_names(const std::vector<std::string>& names) {
  constexpr size_t kMost = 16, kLongest = 64;
  std::string shown;
  size_t num_shown = 0;
  for (const std::string& name : names) {
    const bool is_name = name.size() <= kLongest && std::ranges::all_of(name, [](unsigned char c) {
                           return std::isalnum(c) || c == '_' || c == '.' || c == '-';
                         });
    if (is_name && num_shown++ < kMost) shown = joined(shown, ", ", name);
  }
  if (num_shown < names.size() || num_shown > kMost) shown = joined(shown, ", ", "..");
  return shown;
}

void CompletionApi::serve(const CompletionRequest& request, const std::string& client,
                          HttpReply& reply, const std::stop_token& stop) {
  check_model_name(request.model, model_name_);
  const Completer::Job job = completer_.prepare(request, client);
  tell_ignored(request.ignored, reply);
  if (request.stream) return stream(request, job, reply, stop);
  std::vector<CompletionChoice> choices;
  while (std::ssize(choices) < request.num_choices && !reply.is_gone()) {
    CompletionChoice choice{.scores = first_scores(request)};
    choice.result = completer_.complete(
        job, std::ssize(choices),
        {.on_text = [&](const std::string& more) { choice.text += more; },
         .on_thought = [&](const std::string& more) { choice.thought += more; },
         .on_call = [](const ToolCall&) {},  // they are in the result
         .on_scores = [&](std::vector<TokenScore> more) { add(choice.scores, more); },
         .is_wanted = [&] { return !reply.is_gone(); }},
        stop);
    choices.push_back(std::move(choice));
  }
  if (choices.empty()) return;
  reply.send({.body = to_text(CompletionJson(request.is_chat(), model_name_).whole(choices))});
}

void CompletionApi::tell_ignored(const std::vector<std::string>& names, HttpReply& reply) {
  const std::string shown = shown_names(names);
  if (shown.empty()) return;
  reply.add_header(kIgnoredHeader, shown);
  {
    const Lock lock(mutex_);
    const bool is_new = noted_.size() < kMaxNoted && noted_.insert(shown).second;
    if (!is_new) return;
  }
  spdlog::warn("requests have parameters that are not known, and are ignored: {}", shown);
}

void CompletionApi::stream(const CompletionRequest& request, const Completer::Job& job,
                           HttpReply& reply, const std::stop_token& stop) {
  const CompletionJson json(request.is_chat(), model_name_);
  std::optional<CompletionUsage> sum;
  try {
    for (int64_t choice = 0; choice < request.num_choices && !reply.is_gone(); ++choice) {
      const CompletionUsage usage =
          stream_choice(request, job, choice, json.choice(choice), reply, stop);
      sum ? sum->add(usage) : void(sum = usage);
    }
    if (request.include_usage && sum) reply.send_event(to_text(json.usage_chunk(*sum)));
    reply.send_event("[DONE]");
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {  // the status is already sent
    reply.send_event(server_fault("a request", error).json());
  }
}

CompletionUsage CompletionApi::stream_choice(const CompletionRequest& request,
                                             const Completer::Job& job, int64_t choice,
                                             const CompletionJson& json, HttpReply& reply,
                                             const std::stop_token& stop) {
  if (request.is_chat()) reply.send_event(to_text(json.role_chunk()));
  const auto send = [&](const Json& chunk) {
    if (reply.offer_event(to_text(chunk))) return;
    const EngineLock::Release rest(engine_lock_);
    reply.flush();
  };
  size_t num_calls = 0;
  Scores scores = first_scores(request);  // of what was not sent yet
  const auto taken = [&] { return std::exchange(scores, first_scores(request)); };
  const auto send_text = [&](const std::string& text) {
    Scores said = taken();
    std::optional<EngineLock::Release> rest;
    if (said && said->size() > kFewScores) rest.emplace(engine_lock_);  // they take long
    const std::string event = to_text(json.text_chunk(text, said));
    if (!reply.offer_event(event)) {
      if (!rest) rest.emplace(engine_lock_);  // others do not wait for a slow client
      reply.flush();
    }
  };
  const CompletionResult result = completer_.complete(
      job, choice,
      {.on_text = send_text,
       .on_thought = [&](const std::string& more) { send(json.thought_chunk(more)); },
       .on_call =
           [&](const ToolCall& call) {
             for (const Json& chunk : json.call_chunks(call, num_calls)) send(chunk);
             ++num_calls;
           },
       .on_scores = [&](std::vector<TokenScore> more) { add(scores, more); },
       .is_wanted = [&] { return !reply.is_gone(); }},
      stop);
  reply.send_event(to_text(json.last_chunk(result, taken())));
  return result.usage;
}

}  // namespace predgen::serve
