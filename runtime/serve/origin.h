#pragma once

#include <string_view>

namespace predgen {

/// Whether a browser asks for a page that came from here: its Origin has the host and port of Host.
bool is_same_origin(std::string_view origin, std::string_view host);

/// Whether Host is an address, or localhost. A name may be anybody's who lets it mean this machine.
bool is_address(std::string_view host);

}  // namespace predgen
