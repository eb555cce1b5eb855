#include "serve/openai/responses_api.h"

#include <ctime>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/stop.h"
#include "serve/api_error.h"
#include "serve/new_id.h"
#include "serve/openai/completion_api.h"
#include "serve/openai/completion_request.h"
#include "serve/openai/responses_request.h"

namespace predgen::serve {
namespace {

Json text_part(const std::string& text) {
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", Json::array()},
          {"logprobs", Json::array()}};
}

Json response_usage(const CompletionUsage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.thought_tokens}}},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json or_else(const Json& asked, const char* name, Json otherwise) {
  const auto found = asked.find(name);
  return found == asked.end() || found->is_null() ? std::move(otherwise) : *found;
}

}  // namespace

ResponseObject::ResponseObject(const Json& asked, const std::string& model, Emit emit)
    : emit_(std::move(emit)),
      response_{
          {"id", new_id("resp_")},
          {"object", "response"},
          {"created_at", std::time(nullptr)},
          {"status", "in_progress"},
          {"background", false},
          {"error", nullptr},
          {"incomplete_details", nullptr},
          {"instructions", or_else(asked, "instructions", nullptr)},
          {"max_output_tokens", or_else(asked, "max_output_tokens", nullptr)},
          {"model", model},
          {"output", Json::array()},
          {"parallel_tool_calls", or_else(asked, "parallel_tool_calls", true)},
          {"previous_response_id", nullptr},
          {"reasoning", or_else(asked, "reasoning", {{"effort", nullptr}, {"summary", nullptr}})},
          {"service_tier", "default"},
          {"store", false},
          {"temperature", or_else(asked, "temperature", nullptr)},
          {"text", or_else(asked, "text", {{"format", {{"type", "text"}}}})},
          {"tool_choice", or_else(asked, "tool_choice", "auto")},
          {"tools", or_else(asked, "tools", Json::array())},
          {"top_p", or_else(asked, "top_p", nullptr)},
          {"truncation", "disabled"},
          {"usage", nullptr},
          {"user", or_else(asked, "user", nullptr)},
          {"metadata", or_else(asked, "metadata", Json::object())}} {}

void ResponseObject::emit(Json event) {
  if (!emit_) return;
  event["sequence_number"] = sequence_number_++;
  emit_(event["type"].get<std::string>(), event);
}

void ResponseObject::emit_whole(const char* type) {
  emit({{"type", type}, {"response", response_}});
}

Json ResponseObject::item_event(const char* type) const {
  const Json& items = response_["output"];
  return {{"type", type}, {"item_id", items.back()["id"]}, {"output_index", items.size() - 1}};
}

Json ResponseObject::part_event(const char* type) const {
  Json event = item_event(type);
  event["content_index"] = 0;
  return event;
}

void ResponseObject::begin() {
  emit_whole("response.created");
  emit_whole("response.in_progress");
}

void ResponseObject::begin_item(Json item) {
  response_["output"].push_back(std::move(item));
  emit({{"type", "response.output_item.added"},
        {"output_index", response_["output"].size() - 1},
        {"item", response_["output"].back()}});
}

void ResponseObject::end_item(const char* status) {
  response_["output"].back()["status"] = status;
  emit({{"type", "response.output_item.done"},
        {"output_index", response_["output"].size() - 1},
        {"item", response_["output"].back()}});
}

void ResponseObject::begin_message() {
  text_.emplace();
  begin_item({{"type", "message"},
              {"id", new_id("msg_")},
              {"status", "in_progress"},
              {"role", "assistant"},
              {"content", Json::array()}});
  Json event = part_event("response.content_part.added");
  event["part"] = text_part("");
  emit(std::move(event));
}

void ResponseObject::end_message(const char* status) {
  if (!text_) return;
  const std::string text = *std::exchange(text_, std::nullopt);
  Json said = part_event("response.output_text.done");
  said["text"] = text;
  said["logprobs"] = Json::array();
  emit(std::move(said));
  Json whole = part_event("response.content_part.done");
  whole["part"] = text_part(text);
  emit(std::move(whole));
  response_["output"].back()["content"] = Json::array({text_part(text)});
  end_item(status);
}

void ResponseObject::add_text(const std::string& text) {
  if (!text_) begin_message();
  *text_ += text;
  Json event = part_event("response.output_text.delta");
  event["delta"] = text;
  event["logprobs"] = Json::array();
  emit(std::move(event));
}

void ResponseObject::add_call(const ToolCall& call) {
  end_message("completed");
  begin_item({{"type", "function_call"},
              {"id", new_id("fc_")},
              {"call_id", call.id},
              {"name", call.name},
              {"arguments", ""},
              {"status", "in_progress"}});
  Json more = item_event("response.function_call_arguments.delta");
  more["delta"] = call.arguments;
  emit(std::move(more));
  Json done = item_event("response.function_call_arguments.done");
  done["name"] = call.name;
  done["arguments"] = call.arguments;
  emit(std::move(done));
  response_["output"].back()["arguments"] = call.arguments;
  end_item("completed");
}

void ResponseObject::finish(const CompletionResult& result) {
  if (response_["output"].empty()) begin_message();
  const char* const status = result.is_cut ? "incomplete" : "completed";
  end_message(status);
  response_["status"] = status;
  if (result.is_cut) response_["incomplete_details"] = {{"reason", "max_output_tokens"}};
  response_["usage"] = response_usage(result.usage);
  emit_whole(result.is_cut ? "response.incomplete" : "response.completed");
}

void ResponseObject::fail(const ApiError& error) {
  end_message("incomplete");
  response_["status"] = "failed";
  response_["error"] = {{"code", error.code().empty() ? "server_error" : error.code()},
                        {"message", error.what()}};
  emit_whole("response.failed");
}

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
