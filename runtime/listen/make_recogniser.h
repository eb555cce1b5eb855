#pragma once

#include <string>

#include "runtime/listen/recogniser.h"

namespace predgen {

/// Makes clients of the server at this WebSocket; `url` empty: nothing. UserError for a url that is
/// none.
MakeRecogniser recognisers_at(const std::string& url);

}  // namespace predgen
