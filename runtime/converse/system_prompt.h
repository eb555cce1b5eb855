#pragma once

#include <string>

namespace predgen {

/// The system message that a setting means: "none" is empty, "table3" the text of Table 3 of
/// arXiv 2506.15556, which keeps a model from complaining about unfinished questions; anything
/// else is the text itself.
std::string system_prompt_text(const std::string& setting);

}  // namespace predgen
