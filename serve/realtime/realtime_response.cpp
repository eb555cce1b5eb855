#include "serve/realtime/realtime_response.h"

#include <utility>

#include "runtime/speech/pcm16.h"
#include "serve/new_id.h"
#include "serve/realtime/base64.h"

namespace predgen::serve {
namespace {

Json with(Json object, const Json& more) {
  object.update(more);
  return object;
}

Json usage_json(const RealtimeResponse::Usage& usage) {
  return {{"total_tokens", usage.input_tokens + usage.output_tokens},
          {"input_tokens", usage.input_tokens},
          {"output_tokens", usage.output_tokens},
          {"input_token_details", {{"text_tokens", usage.input_tokens}, {"audio_tokens", 0}}},
          {"output_token_details", {{"text_tokens", usage.output_tokens}, {"audio_tokens", 0}}}};
}

Json or_null(const std::string& id) { return id.empty() ? Json() : Json(id); }

}  // namespace

RealtimeResponse::RealtimeResponse(const EventSender& events, const RealtimeSettings& settings,
                                   Json metadata, const std::string& conversation,
                                   const std::string& previous)
    : events_(events),
      settings_(settings),
      metadata_(std::move(metadata)),
      id_(new_id("resp_")),
      conversation_(conversation),
      previous_(previous),
      item_{.id = new_id("item_"), .role = "assistant", .text = ""} {
  events_.send("response.created", {{"response", json("in_progress")}});
}

Json RealtimeResponse::json(const std::string& status) const {
  return {{"object", "realtime.response"},
          {"id", id_},
          {"status", status},
          {"status_details", nullptr},
          {"output", Json::array()},
          {"conversation_id", conversation_},
          {"output_modalities", Json::array({settings_.has_audio ? "audio" : "text"})},
          {"max_output_tokens",
           settings_.max_output_tokens ? Json(*settings_.max_output_tokens) : Json("inf")},
          {"usage", nullptr},
          {"metadata", metadata_}};
}

Json RealtimeResponse::place() const {
  return {{"response_id", id_}, {"item_id", item_.id}, {"output_index", 0}, {"content_index", 0}};
}

Json RealtimeResponse::part(const std::string& text) const {
  return settings_.has_audio ? Json{{"type", "audio"}, {"transcript", text}}
                             : Json{{"type", "text"}, {"text", text}};
}

void RealtimeResponse::begin_item() {
  has_item_ = true;
  const Json item{{"id", item_.id},      {"object", "realtime.item"},
                  {"type", "message"},   {"status", "in_progress"},
                  {"role", "assistant"}, {"content", Json::array()}};
  events_.send("response.output_item.added",
               {{"response_id", id_}, {"output_index", 0}, {"item", item}});
  events_.send("conversation.item.added",
               {{"previous_item_id", or_null(previous_)}, {"item", item}});
  events_.send("response.content_part.added", with(place(), {{"part", part("")}}));
}

void RealtimeResponse::add_text(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!has_item_) begin_item();
  item_.text += text;
  events_.send(
      settings_.has_audio ? "response.output_audio_transcript.delta" : "response.output_text.delta",
      with(place(), {{"delta", text}}));
}

void RealtimeResponse::add_sound(std::span<const float> samples) {
  const std::vector<int16_t> pcm = to_pcm16(samples);
  const std::string delta = to_base64(bytes_of(pcm));
  const std::lock_guard lock(mutex_);
  item_.num_samples += std::ssize(pcm);
  events_.send("response.output_audio.delta", with(place(), {{"delta", delta}}));
}

void RealtimeResponse::finish_item(const End& end) {
  item_.status = end.status == "completed" ? "completed" : "incomplete";
  const Json whole = to_json(item_);
  if (settings_.has_audio) {
    events_.send("response.output_audio.done", place());
    events_.send("response.output_audio_transcript.done",
                 with(place(), {{"transcript", item_.text}}));
  } else {
    events_.send("response.output_text.done", with(place(), {{"text", item_.text}}));
  }
  events_.send("response.content_part.done", with(place(), {{"part", part(item_.text)}}));
  events_.send("response.output_item.done",
               {{"response_id", id_}, {"output_index", 0}, {"item", whole}});
  events_.send("conversation.item.done",
               {{"previous_item_id", or_null(previous_)}, {"item", whole}});
}

void RealtimeResponse::send_call(const ConversationItem& item, size_t index,
                                 const std::string& previous) const {
  const Json output{{"response_id", id_}, {"output_index", index}};
  Json begun = to_json(item);
  begun.update({{"status", "in_progress"}, {"arguments", ""}});
  events_.send("response.output_item.added", with(output, {{"item", begun}}));
  events_.send("conversation.item.added",
               {{"previous_item_id", or_null(previous)}, {"item", begun}});
  const Json place = with(output, {{"item_id", item.id}, {"call_id", item.call->id}});
  events_.send("response.function_call_arguments.delta",
               with(place, {{"delta", item.call->arguments}}));
  events_.send("response.function_call_arguments.done",
               with(place, {{"name", item.call->name}, {"arguments", item.call->arguments}}));
  events_.send("response.output_item.done", with(output, {{"item", to_json(item)}}));
  events_.send("conversation.item.done",
               {{"previous_item_id", or_null(previous)}, {"item", to_json(item)}});
}

std::vector<ConversationItem> RealtimeResponse::finish(const End& end) {
  const std::lock_guard lock(mutex_);
  const bool is_empty = !has_item_ && end.calls.empty();
  if (is_empty && end.status == "completed") begin_item();
  std::vector<ConversationItem> items;
  if (has_item_) {
    finish_item(end);
    items.push_back(item_);
  }
  for (const ToolCall& call : end.calls) {
    ConversationItem item{.id = new_id("item_"), .role = "assistant", .text = "", .call = call};
    send_call(item, items.size(), items.empty() ? previous_ : items.back().id);
    items.push_back(std::move(item));
  }
  Json response = with(json(end.status), {{"status_details", end.details}});
  response["usage"] = usage_json(end.usage);
  for (const ConversationItem& item : items) response["output"].push_back(to_json(item));
  events_.send("response.done", {{"response", response}});
  return items;
}

ConversationItem RealtimeResponse::item() const {
  const std::lock_guard lock(mutex_);
  return item_;
}

}  // namespace predgen::serve
