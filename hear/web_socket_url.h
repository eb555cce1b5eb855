#pragma once

#include <string>

#include "core/host_url.h"

namespace predgen {

/// ws://HOST[:PORT][/PATH]
using WebSocketUrl = HostUrl;

/// UserError says what a WebSocket's address looks like.
WebSocketUrl parse_web_socket_url(const std::string& url);

}  // namespace predgen
