#pragma once

#include <spdlog/spdlog.h>

namespace predgen {

/// Sends spdlog to stderr, so that stdout stays free for results. `level`: debug, info, warn,
/// error.
void configure_log(const std::string& level);

}  // namespace predgen
