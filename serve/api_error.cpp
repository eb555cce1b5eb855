#include "serve/api_error.h"

#include "core/json.h"

namespace predgen::serve {

std::string ApiError::json() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const Json fields{{"message", what()},
                    {"type", kind_.type},
                    {"param", or_null(kind_.param)},
                    {"code", or_null(kind_.code)}};
  return Json{{"error", fields}}.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                                      Json::error_handler_t::replace);
}

}  // namespace predgen::serve
