#pragma once

#include <string>
#include <string_view>

namespace predgen::serve {

/// %2F is a slash. What is no such code stays as it is.
std::string percent_decoded(std::string_view text);

/// The path that a request means: decoded, with single slashes, and none at its end. "/" stays.
std::string plain_path(std::string_view path);

/// Whether a browser's request is from a page served here: Origin has the host and port of Host.
bool is_same_origin(std::string_view origin, std::string_view host);

/// Host without its port.
std::string host_name(std::string_view host);

/// Case does not matter in names of hosts and in origins.
bool is_same_name(std::string_view one, std::string_view other);

/// Whether nobody else can own the name in Host: an address, a name without a dot (localhost, a
/// container's), one under a top-level domain that is kept for private networks (.local, .internal,
/// ..), or missing, which no browser does. Any other name may belong to somebody who points it at
/// this machine.
bool is_own_host(std::string_view host);

}  // namespace predgen::serve
