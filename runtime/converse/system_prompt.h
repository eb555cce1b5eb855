#pragma once

#include <string>

namespace predgen {

/// The system message that a setting means: "none" is empty, "spoken" asks for answers to be
/// heard, "table3" is the text of Table 3 of arXiv 2506.15556, which keeps a model from complaining
/// about unfinished questions, "@FILE" what a file holds; anything else is the text itself.
/// UserError for a single word that is none of these names, and for a file that cannot be read.
std::string system_prompt_text(const std::string& setting);

/// The same, but "auto" is "spoken" if `has_voice`, else "none".
std::string system_prompt_text(const std::string& setting, bool has_voice);

}  // namespace predgen
