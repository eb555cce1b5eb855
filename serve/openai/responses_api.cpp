#include "serve/openai/responses_api.h"

#include <optional>
#include <utility>

#include "core/json.h"
#include "core/stop.h"
#include "serve/api_error.h"
#include "serve/openai/completion_api.h"
#include "serve/openai/model_name.h"
#include "serve/openai/response_object.h"
#include "serve/openai/responses_request.h"

namespace predgen::serve {

void ResponsesApi::serve(const HttpRequest& request, const std::string& client, HttpReply& reply,
                         const std::stop_token& stop) {
  const ResponsesRequest asked = parse_responses_request(request.body);
  check_model_name(asked.chat.model, model_name_);
  std::optional<Completer::Job> job;
  try {
    job.emplace(completer_.prepare(asked.chat, client));
  } catch (const ApiError& error) {
    throw as_of_responses(error);
  }
  bool has_engine_lock = false;
  ResponseObject::Emit emit;
  if (asked.chat.stream) {
    emit = [&](const std::string& type, const Json& event) {
      if (reply.offer_event(to_text(event), type)) return;
      std::optional<EngineLock::Release> rest;
      if (has_engine_lock) rest.emplace(engine_lock_);  // others do not wait for a slow client
      reply.flush();
    };
  }
  const auto with_engine_lock = [&](const auto& add) {
    has_engine_lock = true;
    add();
    has_engine_lock = false;
  };
  const std::string ignored = shown_names(asked.chat.ignored);
  if (!ignored.empty()) reply.add_header(kIgnoredHeader, ignored);
  ResponseObject response(asked.asked, model_name_, std::move(emit));
  const Completer::Sink sink{
      .on_text =
          [&](const std::string& text) { with_engine_lock([&] { response.add_text(text); }); },
      .on_thought = [](const std::string&) {},  // this API has no place for them but summaries
      .on_call = [&](const ToolCall& call) { with_engine_lock([&] { response.add_call(call); }); },
      .on_scores = {},  // nobody can ask for them here
      .is_wanted = [&] { return !reply.is_gone(); }};
  if (!asked.chat.stream) {
    response.finish(completer_.complete(*job, /*choice=*/0, sink, stop));
    return reply.send({.body = to_text(response.json())});
  }
  try {
    response.begin();
    response.finish(completer_.complete(*job, /*choice=*/0, sink, stop));
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {  // the status is already sent
    has_engine_lock = false;
    response.fail(server_fault("a request", error));
  }
}

}  // namespace predgen::serve
