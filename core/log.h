#pragma once

#include <spdlog/spdlog.h>

#if FMT_VERSION / 10000 == 9
// What spdlog's templates call to format a line. Compiled once, in log.cpp: every source that logs
// would compile the whole formatter.
extern template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::string_view,
    fmt::basic_format_args<FMT_BUFFER_CONTEXT(fmt::type_identity_t<char>)>,
    fmt::detail::locale_ref);
#endif

namespace predgen {

/// Sends spdlog to stderr, so that stdout stays free for results. `level`: debug, info, warn,
/// error.
void configure_log(const std::string& level);

}  // namespace predgen
