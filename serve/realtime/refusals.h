#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serve/api_error.h"
#include "serve/request_fields.h"

namespace predgen::serve {

/// Those of a client's wishes that cannot be met, while the rest counts: a voice assistant that
/// loses its instructions to a field beside them is worse than one without that field.
class Refusals {
 public:
  /// Calls `read`, and notes the ApiError that it throws.
  template <typename Read>
  void attempt(Read read) {
    try {
      read();
    } catch (const ApiError& error) {
      list_.push_back(error);
    }
  }
  /// Notes the fields that were not asked for.
  void note_unknown(const RequestFields& fields) {
    for (const std::string& name : fields.not_known()) {
      note({.param = name, .code = "unknown_parameter"}, "unknown parameter: '" + name + "'");
    }
  }
  void note(ApiError::Kind kind, const std::string& message) {
    list_.emplace_back(std::move(kind), message);
  }

  bool empty() const { return list_.empty(); }
  const std::vector<ApiError>& list() const { return list_; }

 private:
  std::vector<ApiError> list_;
};

}  // namespace predgen::serve
