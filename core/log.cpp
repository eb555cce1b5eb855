#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/error.h"

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
