#include "serve/realtime/web_socket_events.h"

#include "serve/new_id.h"

namespace predgen::serve {

void WebSocketEvents::send(const char* type, const Json& fields) const {
  Json event{{"type", type}, {"event_id", new_id("event_")}};
  event.update(fields);
  sender_.send(event.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                          Json::error_handler_t::replace));
}

void WebSocketEvents::send_error(const ApiError& error, const std::string& event_id) const {
  Json fields = Json::parse(error.json());
  fields["error"]["event_id"] = event_id.empty() ? Json() : Json(event_id);
  send("error", fields);
}

}  // namespace predgen::serve
