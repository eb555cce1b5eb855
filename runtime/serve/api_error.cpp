#include "runtime/serve/api_error.h"

namespace predgen {

Json ApiError::json() const {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"error",
           {{"message", what()},
            {"type", kind_.type},
            {"param", or_null(kind_.param)},
            {"code", or_null(kind_.code)}}}};
}

}  // namespace predgen
