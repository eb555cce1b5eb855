#include "serve/openai/completion_api.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"
#include "serve/api_error.h"
#include "serve/openai/model_name.h"

namespace predgen::serve {
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
