#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "serve/http/http.h"

namespace predgen::serve {

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;

/// What the head of a message says; the body stays where it is.
HttpRequest request_head(const HttpMessage& message);

}  // namespace predgen::serve
