#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace predgen::serve {

/// A device, or another thing of a home, as a home's own list has it.
struct HomeDevice {
  std::vector<std::string> names{};  // the first one, and by what else it is called
  std::string domain{};              // "light"; empty: the list does not say
  std::vector<std::string> areas{};

  bool operator==(const HomeDevice&) const = default;
};

/// Whether nothing can be done with devices of this domain, such as "sensor".
bool only_tells(const std::string& domain);

/// The list of entities that Home Assistant puts into its system prompt: a YAML list of `names`,
/// `domain` and `areas`, where names and areas are separated by commas. Anything else in the text
/// is passed over.
std::vector<HomeDevice> read_home(const std::string& prompt);
/// Those of all system messages.
std::vector<HomeDevice> read_home(const std::vector<Message>& messages);

/// `tools` in which Home Assistant's own functions take what it can carry out in the home that the
/// system messages list: either the name of a device that the function is for (with its area, if
/// others are called so, too), or an area with such devices and their domain; then the function's
/// other arguments, but no floors and no classes of devices, which the list does not have. Only
/// what `words`, the user's, can mean (meant_by()): a function that is for none of it is left out.
/// Functions for timers, those of others, and all without such a list stay as they are.
ToolSet with_home_names(ToolSet tools, const std::vector<Message>& messages,
                        const std::string& words = "");

}  // namespace predgen::serve
