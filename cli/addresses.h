#pragma once

#include <string>
#include <vector>

namespace predgen::cli {

/// "http://127.0.0.1:8080", with brackets around an address of IPv6.
std::string address_of(const std::string& scheme, const std::string& host, int port);

/// The addresses at which other machines reach a server that listens at `host`: of all of this
/// machine's networks if it is 0.0.0.0 or ::, else itself. Possibly none.
std::vector<std::string> reachable_at(const std::string& host);

}  // namespace predgen::cli
