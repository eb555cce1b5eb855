#include "serve/openai/response_object.h"

#include <ctime>
#include <utility>

#include "serve/new_id.h"

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

}  // namespace predgen::serve
