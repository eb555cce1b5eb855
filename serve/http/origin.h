#pragma once

#include <string_view>

namespace predgen::serve {

/// Whether a browser asks for a page that came from here: its Origin has the host and port of Host.
bool is_same_origin(std::string_view origin, std::string_view host);

/// Whether Host is an address, a name without a dot (localhost, a container's), or missing, as no
/// browser has it. Another name may be anybody's who lets it mean this machine.
bool is_own_host(std::string_view host);

}  // namespace predgen::serve
