#include "serve/realtime/realtime_api.h"

#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "core/edit_distance.h"
#include "core/json.h"
#include "core/text.h"
#include "serve/api_error.h"
#include "serve/http/http.h"
#include "serve/realtime/event_json.h"
#include "serve/request_fields.h"

namespace predgen::serve {
namespace {

constexpr int kTryLater = 1013;
constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();

std::string item_id(RequestFields& fields) {
  return fields.text("item_id", /*required=*/true).value();
}

void update(RealtimeConversation& conversation, RequestFields& fields) {
  const Json session = fields.any("session", /*required=*/true);
  const std::string id = fields.text("event_id").value_or("");
  fields.finish();
  Refusals refusals;
  RealtimeSettings settings =
      updated(session, conversation.dialogue().settings(), conversation.offer(), refusals);
  conversation.update(std::move(settings), std::move(refusals), id);
}

void create_item(RealtimeConversation& conversation, RequestFields& fields) {
  const Json item = fields.any("item", /*required=*/true);
  const std::string previous = fields.text("previous_item_id").value_or("");
  fields.finish();
  ConversationItem added = parse_item(item, "item");
  if (!conversation.offer().has_tools && (added.call || added.role == "tool")) {
    RequestFields::fail_unsupported(
        "item.type", "can be message only: the model's chat template has no functions");
  }
  conversation.dialogue().add_item(std::move(added), previous);
}

void retrieve_item(RealtimeConversation& conversation, RequestFields& fields) {
  const std::string id = item_id(fields);
  fields.finish();
  conversation.dialogue().retrieve_item(id);
}

void delete_item(RealtimeConversation& conversation, RequestFields& fields) {
  const std::string id = item_id(fields);
  fields.finish();
  conversation.dialogue().delete_item(id);
}

void truncate_item(RealtimeConversation& conversation, RequestFields& fields) {
  const std::string id = item_id(fields);
  fields.any("content_index", /*required=*/true);
  fields.expect_neutral("content_index", {0});
  fields.any("audio_end_ms", /*required=*/true);
  const int64_t end = fields.integer("audio_end_ms", 0, kAnyTime).value();
  fields.finish();
  conversation.dialogue().truncate_item(id, end);
}

void create_response(RealtimeConversation& conversation, RequestFields& fields) {
  const Json response = fields.any("response");
  const std::string id = fields.text("event_id").value_or("");
  fields.finish();
  ResponseRequest request;
  Refusals refusals;
  request.settings = for_response(response, conversation.dialogue().settings(),
                                  conversation.offer(), request.metadata, refusals);
  conversation.report(refusals, id);
  conversation.dialogue().respond(std::move(request));
}

void cancel_response(RealtimeConversation& conversation, RequestFields& fields) {
  const std::string id = fields.text("response_id").value_or("");
  fields.finish();
  conversation.dialogue().cancel(id);
}

void update_transcript(RealtimeConversation& conversation, RequestFields& fields) {
  TranscriptLine line;
  line.text = fields.text("text", /*required=*/true).value();
  line.revision = fields.integer("revision", -kAnyTime, kAnyTime);
  const bool is_final = fields.flag("final");
  const bool decides = !fields.any("end_of_turn").is_null();
  line.is_final = decides ? fields.flag("end_of_turn") : is_final;
  fields.finish();
  conversation.input().hear(line);
}

void append_sound(RealtimeConversation& conversation, RequestFields& fields) {
  DialogueInput& input = conversation.input();
  input.expect_sound();
  const std::string audio = fields.text("audio", /*required=*/true).value();
  fields.finish();
  input.append_sound(audio);
}

void commit_sound(RealtimeConversation& conversation, RequestFields& fields) {
  fields.finish();
  conversation.input().commit_sound();
}

void clear_sound(RealtimeConversation& conversation, RequestFields& fields) {
  fields.finish();
  conversation.input().clear_sound();
}

using Action = void (*)(RealtimeConversation&, RequestFields&);
const std::map<std::string, Action> kActions{
    {"session.update", update},
    {"conversation.item.create", create_item},
    {"conversation.item.retrieve", retrieve_item},
    {"conversation.item.delete", delete_item},
    {"conversation.item.truncate", truncate_item},
    {"response.create", create_response},
    {"response.cancel", cancel_response},
    {"predgen.transcript.update", update_transcript},
    {"input_audio_buffer.append", append_sound},
    {"input_audio_buffer.commit", commit_sound},
    {"input_audio_buffer.clear", clear_sound},
};

std::string event_id(const Json& event) {
  const auto id = event.find("event_id");
  return id != event.end() && id->is_string() ? id->get<std::string>() : "";
}

Json parse_event(std::string_view message) {
  try {
    return parse_client_json(message, "the event");
  } catch (const UserError& error) {
    throw ApiError({.code = "invalid_json"}, error.what());
  }
}

}  // namespace

void RealtimeConnection::on_open(WebSocketSender& sender) {
  events_.emplace(sender, host_.offer, is_beta_);
  if (refused_) {
    events_->send_error(*refused_);
    return events_->close(kTryLater, refused_->code());
  }
  try {
    conversation_ = std::make_unique<RealtimeConversation>(host_, *events_, client_);
  } catch (const std::exception& error) {
    events_->send_error(server_fault("the beginning of a conversation", error));
    events_->on_event(ConversationEnded{ConversationEnded::Reason::kServerFailed});
  }
}

void RealtimeConnection::on_text(std::string_view message) {
  if (!conversation_ || TranscriptMessages::is_farewell(message)) return;
  Json event;
  try {
    event = parse_event(message);
    if (!event.is_object()) {
      throw ApiError({.code = "invalid_event"}, "an event must be a JSON object");
    }
    handle(event);
  } catch (const ApiError& error) {
    events_->send_error(error, event.is_object() ? event_id(event) : "");
  } catch (const std::exception& error) {
    events_->send_error(server_fault("an event", error), event_id(event));
  }
}

bool RealtimeConnection::hear(const Json& event) {
  std::optional<TranscriptLines> lines;
  try {
    lines = messages_.read(event, "the event");
  } catch (const UserError& error) {
    throw ApiError({.code = "invalid_value"}, error.what());
  }
  if (!lines) return false;
  for (const TranscriptLine& line : *lines) conversation_->input().hear(line);
  return true;
}

void RealtimeConnection::handle(const Json& event) {
  if (hear(event)) return;
  RequestFields fields(event, "");
  const std::string type = fields.text("type", /*required=*/true).value();
  fields.text("event_id");
  const auto action = kActions.find(type);
  if (action == kActions.end()) {
    std::vector<std::string> known;
    for (const auto& [name, does] : kActions) known.push_back(name);
    throw ApiError({.param = "type", .code = "unknown_event"},
                   fmt::format("unknown event '{}'; {}", shortened(type), suggest(type, known)));
  }
  action->second(*conversation_, fields);
}

void RealtimeConnection::on_binary() {
  events_->send_error(
      ApiError({.code = "invalid_event"}, "events are JSON in text messages, not in binary ones"));
}

void RealtimeConnection::on_drain() {
  if (conversation_) conversation_->dialogue().end();
}

void RealtimeConnection::on_expiry(const std::string& why) {
  events_->send_error(
      ApiError({.status = 408, .code = "session_expired"}, "the session is over: " + why));
}

void RealtimeConnection::on_close() { conversation_.reset(); }

namespace {

constexpr std::string_view kProtocol = "realtime", kKeyProtocol = "openai-insecure-api-key.";
constexpr std::string_view kBeta = "realtime=v1", kBetaProtocol = "openai-beta.realtime-v1";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.emplace_back(trimmed(part));
  }
  return parts;
}

/// The value of a query's `name`; empty: there is none.
std::string query_value(const std::string& query, const std::string& name) {
  for (const std::string& part : split(query, '&')) {
    if (part.starts_with(name + "=")) return percent_decoded(part.substr(name.size() + 1));
  }
  return {};
}

bool offers(const std::string& protocols, std::string_view protocol) {
  for (const std::string& one : split(protocols, ',')) {
    if (one == protocol) return true;
  }
  return false;
}

}  // namespace

std::string offered_key(const std::string& protocols) {
  for (const std::string& one : split(protocols, ',')) {
    if (one.starts_with(kKeyProtocol)) return "Bearer " + one.substr(kKeyProtocol.size());
  }
  return {};
}

void RealtimeApi::serve(const HttpRequest& request, const std::string& client, HttpReply& reply) {
  if (!request.wants_web_socket) {
    throw ApiError({.status = 426, .code = "upgrade_required"}, "this path takes WebSockets only");
  }
  const std::string model = query_value(request.query, "model");
  if (!is_model_named(model, host_.offer)) {
    throw ApiError(
        {.status = 404, .param = "model", .code = "model_not_found"},
        fmt::format("the model '{}' is not here: ask for '{}'", model, host_.offer.model));
  }
  const auto slot = sessions_.enter(client);
  std::optional<ApiError> refused;
  if (!slot) refused.emplace(sessions_.refusal("sessions are under way"));
  const bool is_beta =
      request.beta.find(kBeta) != std::string::npos || offers(request.protocols, kBetaProtocol);
  RealtimeConnection connection(host_, std::move(refused), client, is_beta);
  reply.open_web_socket(connection,
                        offers(request.protocols, kProtocol) ? std::string(kProtocol) : "");
}

}  // namespace predgen::serve
