#include "data/held_out.h"

#include <utf8proc.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "data/jsonl_reader.h"

namespace predgen {
namespace {

bool is_word_character(utf8proc_int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
      return false;
    default:
      return true;
  }
}

bool is_space(utf8proc_int32_t code) {
  return code == '\n' || code == '\t' || code == '\r' ||
         utf8proc_category(code) == UTF8PROC_CATEGORY_ZS ||
         utf8proc_category(code) == UTF8PROC_CATEGORY_ZL ||
         utf8proc_category(code) == UTF8PROC_CATEGORY_ZP;
}

}  // namespace

std::string normalise_prompt(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPAT |
                                                  UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
  if (size < 0) throw UserError("not valid UTF-8");
  const std::string folded(reinterpret_cast<char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
  std::string result;
  bool space_due = false;
  for (size_t i = 0; i < folded.size();) {
    utf8proc_int32_t code = 0;
    const auto length = static_cast<size_t>(
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(folded.data()) + i,
                         static_cast<utf8proc_ssize_t>(folded.size() - i), &code));
    if (is_space(code)) {
      space_due = !result.empty();
    } else if (is_word_character(code)) {
      if (space_due) result += ' ';
      space_due = false;
      result.append(folded, i, length);
    }
    i += length;
  }
  return result;
}

void PromptSet::add(const std::string& prompt_text) {
  const std::string normalised = normalise_prompt(prompt_text);
  if (normalised.empty()) return;
  if (std::count(normalised.begin(), normalised.end(), ' ') + 1 < min_words_) return;
  exact_.insert(prompt_text);
  normalised_.insert(normalised);
}

void PromptSet::add(const CorpusConversation& conversation) {
  for (const Message& message : conversation.messages) {
    if (message.role == "user") add(message.content);
  }
}

void PromptSet::add_file(const std::filesystem::path& file) {
  if (file.extension() == ".json") {
    const Json json = read_json(file);
    if (!json.is_object()) {
      throw UserError("{}: not an object whose keys are prompts", file.string());
    }
    for (const auto& [prompt, unused] : json.items()) add(prompt);
    return;
  }
  if (file.extension() == ".jsonl") {
    std::ifstream stream(file);
    if (!stream) throw UserError("{}: cannot be read", file.string());
    std::string line;
    for (int64_t row = 1; std::getline(stream, line); ++row) {
      if (is_blank(line)) continue;
      const std::string where = fmt::format("{}:{}", file.string(), row);
      const Json json = parse_json(line, where);
      if (json.is_object() && json.contains("conversation")) {
        add(parse_conversation(json));
      } else {
        const bool asks = json.is_object() && json.contains("question");
        add(json_get<std::string>(json, asks ? "question" : "prompt", where));
      }
    }
    return;
  }
  const auto reader = open_conversations(file, BadRows::kFail);
  CorpusConversation conversation;
  while (reader->next(conversation)) add(conversation);
}

PromptSet::Overlap PromptSet::overlap(const std::string& prompt_text) const {
  if (exact_.empty()) return Overlap::kNone;
  if (exact_.contains(prompt_text)) return Overlap::kExact;
  return normalised_.contains(normalise_prompt(prompt_text)) ? Overlap::kNormalised
                                                             : Overlap::kNone;
}

bool is_held_out(const std::string& conversation_id, uint64_t seed, double fraction) {
  return fraction > 0 && Random(seed, "held out " + conversation_id).uniform() < fraction;
}

}  // namespace predgen
