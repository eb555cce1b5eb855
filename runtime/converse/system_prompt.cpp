#include "runtime/converse/system_prompt.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/files.h"
#include "text/utf8.h"

namespace predgen {
namespace {

const std::pair<const char*, const char*> kNamed[] = {
    {"none", ""},
    {"spoken",
     "You are a helpful assistant. Answer in plain words, in one to three short sentences."},
    {"table3",
     "The instruction provided by the user may be truncated. In such cases, respond based on your "
     "best guess of the incomplete instruction. Do not complain about incomplete prompts."}};

bool is_one_word(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

std::string system_prompt_text(const std::string& setting) {
  std::vector<std::string> names;
  for (const auto& [name, text] : kNamed) {
    if (setting == name) return text;
    names.emplace_back(name);
  }
  if (setting.starts_with('@')) {
    std::string text = read_file(setting.substr(1));
    require_utf8(text, setting.substr(1));
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  if (!setting.empty() && is_one_word(setting)) {
    throw UserError("system prompt \"{}\": no such name ({}); a text has more than one word",
                    setting, suggest(setting, names));
  }
  return setting;
}

std::string system_prompt_text(const std::string& setting, bool has_voice) {
  return system_prompt_text(setting == "auto" ? (has_voice ? "spoken" : "none") : setting);
}

}  // namespace predgen
