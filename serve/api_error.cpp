#include "serve/api_error.h"

namespace predgen::serve {

Json ApiError::fields() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"message", what()},
          {"type", kind_.type},
          {"param", or_null(kind_.param)},
          {"code", or_null(kind_.code)}};
}

std::string ApiError::json() const {
  return Json{{"error", fields()}}.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                                        Json::error_handler_t::replace);
}

}  // namespace predgen::serve
