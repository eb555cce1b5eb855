#include "serve/api_error.h"

#include "core/log.h"
#include "core/text.h"

namespace predgen::serve {

Json ApiError::fields() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"message", what()},
          {"type", kind_.type},
          {"param", or_null(kind_.param)},
          {"code", or_null(kind_.code)}};
}

std::string ApiError::json() const { return to_text({{"error", fields()}}); }

ApiError server_fault(const char* what, const std::exception& why) {
  spdlog::error("{} failed: {}", what, first_line(why.what()));
  return ApiError({.status = 500, .type = "server_error"}, kServerFault);
}

}  // namespace predgen::serve
