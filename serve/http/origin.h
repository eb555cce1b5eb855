#pragma once

#include <string_view>

namespace predgen::serve {

/// Whether a browser's request is from a page served here: Origin has the host and port of Host.
bool is_same_origin(std::string_view origin, std::string_view host);

/// Whether Host is an address, a name without a dot (localhost, a container's), or missing, which
/// no browser does. Any other name may belong to somebody who points it at this machine.
bool is_own_host(std::string_view host);

}  // namespace predgen::serve
