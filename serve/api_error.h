#pragma once

#include <exception>
#include <string>

#include "core/error.h"
#include "core/json.h"

namespace predgen::serve {

/// What a client is told instead of an answer, in the shape of OpenAI's API.
class ApiError : public Error {
 public:
  struct Kind {
    int status = 400;
    std::string type = "invalid_request_error";
    std::string param{}, code{};  // empty: null
  };
  ApiError(Kind kind, const std::string& message) : Error(message), kind_(std::move(kind)) {}

  int status() const { return kind_.status; }
  const std::string& code() const { return kind_.code; }
  const std::string& param() const { return kind_.param; }
  /// {"message", "type", "param", "code"}.
  Json fields() const;
  /// {"error": fields()} as text. What is ill-formed in a message, which may
  /// quote the request, becomes U+FFFD.
  std::string json() const;

 private:
  Kind kind_;
};

/// All that a client is told about a failure that is not its own.
inline constexpr const char* kServerFault = "the server failed; its log says more";
/// Makes a kServerFault, and logs that `what` has failed, with the first line of `why`.
ApiError server_fault(const char* what, const std::exception& why);

}  // namespace predgen::serve
