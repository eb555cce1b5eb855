#include "voice/voice.h"

#include <fmt/ranges.h>

#include "core/text.h"

namespace predgen {

UserError unknown_voice(const std::string& name, const std::vector<std::string>& names) {
  return UserError("there is no voice '{}' here: choose one of {}", shortened(name),
                   fmt::join(names, ", "));
}

}  // namespace predgen
