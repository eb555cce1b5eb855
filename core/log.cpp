#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/error.h"

#if FMT_VERSION / 10000 == 9
template void fmt::detail::vformat_to<char>(
    fmt::detail::buffer<char>&, fmt::string_view,
    fmt::basic_format_args<FMT_BUFFER_CONTEXT(fmt::type_identity_t<char>)>,
    fmt::detail::locale_ref);
#endif

namespace predgen {

void configure_log(const std::string& level) {
  static const auto logger = spdlog::stderr_color_mt("predgen");
  const auto parsed = spdlog::level::from_str(level);
  if (parsed == spdlog::level::off && level != "off") {
    throw UserError("log level \"{}\": use debug, info, warn, error or off", level);
  }
  logger->set_level(parsed);
  logger->set_pattern("%^%l%$: %v");
  spdlog::set_default_logger(logger);
}

}  // namespace predgen
