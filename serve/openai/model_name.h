#pragma once

#include <string>

#include "core/text.h"
#include "serve/api_error.h"

namespace predgen::serve {

/// ApiError 404 unless a request asks for the model that is here.
inline void check_model_name(const std::string& asked, const std::string& here) {
  if (asked == here) return;
  throw ApiError({.status = 404, .param = "model", .code = "model_not_found"},
                 fmt::format("the model '{}' is not here: ask for '{}'", shortened(asked), here));
}

}  // namespace predgen::serve
