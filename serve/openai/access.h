#pragma once

#include <string>
#include <vector>

#include "serve/api_keys.h"
#include "serve/http/http.h"
#include "serve/serve_config.h"

namespace predgen::serve {

/// Who may ask: by their key, by the name that they use for this machine, and for web pages by
/// their origin. Immutable.
class Access {
 public:
  /// Of the configuration: api_keys_sha256, allowed_hosts and allowed_origins.
  explicit Access(const ServeConfig& config);

  /// Returns the client: the key's hash or, if no key is needed, the address. `is_public`: what is
  /// asked for needs no key. ApiError 401 or 403.
  std::string check(const HttpRequest& request, bool is_public) const;
  /// The part of check() that a browser asks about beforehand, without the key. ApiError 403.
  void check_place(const HttpRequest& request) const;
  /// Whether pages of this origin, which are served elsewhere, may ask and read the answers.
  bool is_allowed_origin(const std::string& origin) const;

 private:
  const ApiKeys keys_;
  const std::vector<std::string> hosts_, origins_;
};

}  // namespace predgen::serve
