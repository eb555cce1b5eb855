#include "serve/realtime/realtime_events.h"

#include "core/base64.h"
#include "runtime/converse/turn.h"
#include "serve/new_id.h"
#include "serve/realtime/event_json.h"

namespace predgen::serve {
namespace {

constexpr int kFailed = 1011;

Json with(Json object, const Json& more) {
  object.update(more);
  return object;
}

Json or_null(const std::string& id) { return id.empty() ? Json() : Json(id); }

const char* to_string(ResponseStatus status) {
  switch (status) {
    case ResponseStatus::kCompleted:
      return "completed";
    case ResponseStatus::kIncomplete:
      return "incomplete";
    case ResponseStatus::kCancelled:
    case ResponseStatus::kInterrupted:
      return "cancelled";
    case ResponseStatus::kFailed:
      return "failed";
  }
  throw Error("a response's status without a name");
}

/// Null if it is completed.
Json status_details(const ResponseEnd& end) {
  const auto reason = [&](const char* why) {
    return Json{{"type", to_string(end.status)}, {"reason", why}};
  };
  switch (end.status) {
    case ResponseStatus::kCompleted:
      return nullptr;
    case ResponseStatus::kIncomplete:
      return reason("max_output_tokens");
    case ResponseStatus::kCancelled:
      return reason("client_cancelled");
    case ResponseStatus::kInterrupted:
      return reason("turn_detected");
    case ResponseStatus::kFailed:
      return {{"type", "failed"}, {"error", end.error.value().fields()}};
  }
  throw Error("a response's status without details");
}

Json usage_json(const ResponseEnd& end) {
  return {{"total_tokens", end.input_tokens + end.output_tokens},
          {"input_tokens", end.input_tokens},
          {"output_tokens", end.output_tokens},
          {"input_token_details", {{"text_tokens", end.input_tokens}, {"audio_tokens", 0}}},
          {"output_token_details", {{"text_tokens", end.output_tokens}, {"audio_tokens", 0}}}};
}

Json response_json(const ResponseInfo& response, const char* status) {
  const RealtimeSettings& settings = response.settings;
  return {{"object", "realtime.response"},
          {"id", response.id},
          {"status", status},
          {"status_details", nullptr},
          {"output", Json::array()},
          {"conversation_id", response.conversation},
          {"output_modalities", Json::array({settings.has_audio ? "audio" : "text"})},
          {"max_output_tokens",
           settings.max_output_tokens ? Json(*settings.max_output_tokens) : Json("inf")},
          {"usage", nullptr},
          {"metadata", response.metadata}};
}

Json place(const ResponseInfo& response, const std::string& item) {
  return {
      {"response_id", response.id}, {"item_id", item}, {"output_index", 0}, {"content_index", 0}};
}

Json part(const ResponseInfo& response, const std::string& text) {
  return response.settings.has_audio ? Json{{"type", "audio"}, {"transcript", text}}
                                     : Json{{"type", "text"}, {"text", text}};
}

/// Writes each kind of event as its messages.
struct Writer {
  WebSocketSender& sender;
  const RealtimeOffer& offer;
  const bool is_beta;
  std::optional<LineEncoder>& encoder;

  void send(const char* type, const Json& fields) const {
    const Json event = with({{"type", type}, {"event_id", new_id("event_")}}, fields);
    if (!is_beta) return sender.send(to_text(event));
    if (const std::optional<Json> beta = to_beta(event)) sender.send(to_text(*beta));
  }

  void operator()(const SessionCreated& created) const {
    send("session.created", {{"session", created.settings.json(created.id, offer)}});
  }
  void operator()(const Limited& limited) const {
    Json refused = Json::array();
    std::string message = "not done, while the rest is: ";
    for (const ApiError& error : limited.refusals.list()) {
      message += (refused.empty() ? "" : "; ") + std::string(error.what());
      refused.push_back(error.fields());
    }
    send("predgen.warning",
         {{"warning",
           {{"message", message}, {"event_id", or_null(limited.event_id)}, {"refused", refused}}}});
  }
  void operator()(const SessionUpdated& updated) const {
    send("session.updated", {{"session", updated.settings.json(updated.id, offer)}});
  }
  void operator()(const ItemAdded& added) const {
    const Json fields{{"previous_item_id", or_null(added.previous)}, {"item", to_json(added.item)}};
    send("conversation.item.added", fields);
    send("conversation.item.done", fields);
  }
  void operator()(const ItemRetrieved& retrieved) const {
    send("conversation.item.retrieved", {{"item", to_json(retrieved.item)}});
  }
  void operator()(const ItemDeleted& deleted) const {
    send("conversation.item.deleted", {{"item_id", deleted.id}});
  }
  void operator()(const ItemTruncated& cut) const {
    send("conversation.item.truncated",
         {{"item_id", cut.id}, {"content_index", 0}, {"audio_end_ms", cut.milliseconds}});
  }
  void operator()(const SpeechStarted& speech) const {
    send("input_audio_buffer.speech_started",
         {{"audio_start_ms", speech.milliseconds}, {"item_id", speech.item}});
  }
  void operator()(const TurnSpoken& spoken) const {
    const SpokenTurn& turn = spoken.turn;
    if (turn.stopped_at) {
      send("input_audio_buffer.speech_stopped",
           {{"audio_end_ms", *turn.stopped_at}, {"item_id", turn.item}});
    }
    send("input_audio_buffer.committed",
         {{"previous_item_id", or_null(spoken.previous)}, {"item_id", turn.item}});
    (*this)(ItemAdded{spoken.item, spoken.previous});
    const Json content{{"item_id", turn.item}, {"content_index", 0}};
    if (!turn.text.empty()) {
      send("conversation.item.input_audio_transcription.delta",
           with(content, {{"delta", turn.text}}));
    }
    send("conversation.item.input_audio_transcription.completed",
         with(content, {{"transcript", turn.text},
                        {"usage", {{"type", "duration"}, {"seconds", turn.seconds}}}}));
  }
  void operator()(const SoundCleared&) const { send("input_audio_buffer.cleared", Json::object()); }

  void operator()(const ResponseBegun& begun) const {
    send("response.created", {{"response", response_json(begun.response, "in_progress")}});
  }
  void operator()(const MessageBegun& begun) const {
    const ResponseInfo& response = begun.response;
    encoder.emplace(response.settings.output_format);
    const Json item{{"id", begun.item.id}, {"object", "realtime.item"},
                    {"type", "message"},   {"status", "in_progress"},
                    {"role", "assistant"}, {"content", Json::array()}};
    send("response.output_item.added",
         {{"response_id", response.id}, {"output_index", 0}, {"item", item}});
    send("conversation.item.added",
         {{"previous_item_id", or_null(response.previous)}, {"item", item}});
    send("response.content_part.added",
         with(place(response, begun.item.id), {{"part", part(response, "")}}));
  }
  void operator()(const TextAdded& more) const {
    send(more.response.settings.has_audio ? "response.output_audio_transcript.delta"
                                          : "response.output_text.delta",
         with(place(more.response, more.item), {{"delta", more.text}}));
  }
  void operator()(const SoundAdded& more) const {
    send_sound(more.response, more.item, encoder.value().encode(more.samples));
  }
  void send_sound(const ResponseInfo& response, const std::string& item,
                  const std::string& bytes) const {
    if (bytes.empty()) return;
    send("response.output_audio.delta", with(place(response, item), {{"delta", to_base64(bytes)}}));
  }
  void operator()(const MessageDone& done) const {
    const ConversationItem& item = done.item;
    const ResponseInfo& response = done.response;
    const Json content = place(response, item.id), whole = to_json(item);
    if (response.settings.has_audio) {
      send_sound(response, item.id, encoder.value().finish());
      send("response.output_audio.done", content);
      send("response.output_audio_transcript.done", with(content, {{"transcript", item.text}}));
    } else {
      send("response.output_text.done", with(content, {{"text", item.text}}));
    }
    send("response.content_part.done", with(content, {{"part", part(response, item.text)}}));
    send("response.output_item.done",
         {{"response_id", response.id}, {"output_index", 0}, {"item", whole}});
    send("conversation.item.done",
         {{"previous_item_id", or_null(response.previous)}, {"item", whole}});
  }
  void operator()(const CallMade& made) const {
    const ToolCall& call = made.item.call.value();
    const Json output{{"response_id", made.response.id}, {"output_index", made.index}};
    const Json before{{"previous_item_id", or_null(made.previous)}};
    const Json item{{"item", to_json(made.item)}};
    Json begun = item;
    begun["item"].update({{"status", "in_progress"}, {"arguments", ""}});
    send("response.output_item.added", with(output, begun));
    send("conversation.item.added", with(before, begun));
    const Json arguments = with(output, {{"item_id", made.item.id}, {"call_id", call.id}});
    send("response.function_call_arguments.delta", with(arguments, {{"delta", call.arguments}}));
    send("response.function_call_arguments.done",
         with(arguments, {{"name", call.name}, {"arguments", call.arguments}}));
    send("response.output_item.done", with(output, item));
    send("conversation.item.done", with(before, item));
  }
  void operator()(const ResponseDone& done) const {
    Json response = response_json(done.response, to_string(done.end.status));
    response["status_details"] = status_details(done.end);
    response["usage"] = usage_json(done.end);
    for (const ConversationItem& item : done.items) response["output"].push_back(to_json(item));
    send("response.done", {{"response", response}});
  }

  void operator()(const DraftMade& draft) const {
    send("predgen.speculation.draft", {{"transcript", draft.transcript},
                                       {"kept", draft.kept},
                                       {"drafted", draft.drafted},
                                       {"rejected", draft.rejected}});
  }
  void operator()(const DraftKept& draft) const {
    send("predgen.speculation.kept", {{"kept", draft.kept}, {"rejected", draft.rejected}});
  }
  void operator()(const SentenceReady& sentence) const {
    send("predgen.sentence.ready", {{"text", sentence.text}});
  }
  void operator()(const CallPredicted& predicted) const {
    send("response.function_call.predicted",
         {{"name", predicted.call.name}, {"arguments", predicted.call.arguments}});
  }
  void operator()(const ToolCalled& called) const {
    const ToolEvent& event = called.event;
    send("predgen.tool_call", {{"name", event.call.name},
                               {"arguments", act::canonical_arguments(event.call.arguments)},
                               {"state", state_of(event)},
                               {"seconds", event.elapsed.count()},
                               {"ahead_seconds", event.ahead.count()},
                               {"early", event.is_early},
                               {"text", event_line(event)}});
  }
  void operator()(const TurnMeasured& measured) const {
    Seconds end_of_turn{0};
    for (const TurnEvent& event : measured.result.events) {
      if (event.kind == TurnEvent::Kind::kFinal) end_of_turn = event.time;
    }
    Json events = Json::array();  // without texts: those of drafts are other events
    for (const TurnEvent& event : measured.result.events) {
      events.push_back(
          {{"kind", to_string(event.kind)}, {"time", (event.time - end_of_turn).count()}});
    }
    send("predgen.metrics", {{"response_id", measured.response},
                             {"metrics", metrics_json(measured.result.metrics)},
                             {"events", events}});
  }

  void operator()(const Failure& failure) const { send_error(failure.error, {}); }
  void send_error(const ApiError& error, const std::string& event_id) const {
    Json fields{{"error", error.fields()}};
    fields["error"]["event_id"] = or_null(event_id);
    send("error", fields);
  }
  void operator()(const ConversationEnded& ended) const {
    const bool has_failed = ended.reason == ConversationEnded::Reason::kServerFailed;
    sender.close(has_failed ? kFailed : kGoingAway,
                 has_failed ? "the server failed" : "the server stops");
  }
};

}  // namespace

void RealtimeEvents::on_event(const ConversationEvent& event) {
  const Lock lock(mutex_);
  std::visit(Writer{sender_, offer_, is_beta_, encoder_}, event);
}

void RealtimeEvents::send_error(const ApiError& error, const std::string& event_id) {
  const Lock lock(mutex_);
  Writer{sender_, offer_, is_beta_, encoder_}.send_error(error, event_id);
}

}  // namespace predgen::serve
