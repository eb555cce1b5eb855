#include "data/held_out.h"

#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/random.h"
#include "core/text.h"
#include "data/corpus_row.h"
#include "data/example_builder.h"
#include "data/jsonl_reader.h"
#include "text/words.h"

namespace predgen::data {
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

/// Number of words of a normalised, non-empty text.
int64_t num_words(const std::string& normalised) { return std::ranges::count(normalised, ' ') + 1; }

}  // namespace

std::string normalise_prompt(std::string_view text) {
  const std::string folded = predgen::folded(text);
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

std::vector<uint64_t> near_fingerprints(std::string_view normalised) {
  // Polynomials in kBase over the words' hashes, so that all take linear time.
  constexpr uint64_t kBase = 0x9e3779b97f4a7c15;
  std::vector<uint64_t> words;
  for (size_t begin = 0; begin < normalised.size();) {
    const size_t end = std::min(normalised.find(' ', begin), normalised.size());
    words.push_back(std::hash<std::string_view>()(normalised.substr(begin, end - begin)));
    begin = end + 1;
  }
  std::vector<uint64_t> ends(words.size() + 1, 0);  // hashes of the words from each one on
  for (size_t i = words.size(); i-- > 0;) ends[i] = ends[i + 1] * kBase + words[i];
  std::vector<uint64_t> fingerprints{ends[0]};
  uint64_t start = 0, power = 1;
  for (size_t i = 0; i < words.size(); ++i) {
    fingerprints.push_back(start + power * ends[i + 1]);
    start += power * words[i];
    power *= kBase;
  }
  return fingerprints;
}

uint64_t conversation_fingerprint(const CorpusConversation& conversation) {
  Hasher hasher;
  for (const Message& message : conversation.messages) {
    const std::string normalised = normalise_prompt(message.content);
    hasher.add(message.role).add(normalised.empty() ? message.content : normalised);
  }
  return std::stoull(hasher.hex().substr(0, 16), nullptr, 16);
}

void PromptSet::add(const std::string& prompt_text) {
  const std::string normalised = normalise_prompt(prompt_text);
  if (normalised.empty()) return;
  const int64_t words = num_words(normalised);
  if (words < min_words_) return;
  if (keeps_near_ && words >= kNearWords) {
    for (const uint64_t fingerprint : near_fingerprints(normalised)) near_.insert(fingerprint);
  }
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
      try {
        const Json json = parse_python_json(line).value;
        if (json.is_object() && json.contains("question") && !json.contains("conversation")) {
          add(json_get<std::string>(json, "question", "the row"));
        } else {
          add(parse_conversation(json));
        }
      } catch (const UserError& error) {
        throw UserError("{}: {}", where, error.what());
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
  const std::string normalised = normalise_prompt(prompt_text);
  if (normalised_.contains(normalised)) return Overlap::kNormalised;
  if (near_.empty() || num_words(normalised) < kNearWords) return Overlap::kNone;
  const bool is_near = std::ranges::any_of(near_fingerprints(normalised),
                                           [&](uint64_t each) { return near_.contains(each); });
  return is_near ? Overlap::kNear : Overlap::kNone;
}

double HeldOutShare::draw(const std::string& id) const {
  return Random(seed_, "held out " + id).uniform();
}

bool HeldOutShare::count(const CorpusConversation& conversation) {
  if (fraction_ <= 0) return false;
  if (!check_conversation(conversation, {}, ExampleLaw::kTruncated)) {
    draws_.push_back(draw(conversation.id));
  }
  return draws_.size() < kFew;
}

void HeldOutShare::decide() {
  below_ = fraction_;
  if (draws_.empty() || draws_.size() >= kFew) return;
  std::ranges::sort(draws_);
  const auto wanted = std::lround(fraction_ * static_cast<double>(draws_.size()));
  const size_t count = std::min(static_cast<size_t>(std::max(wanted, 1L)), draws_.size() - 1);
  below_ = draws_[count];
}

bool HeldOutShare::holds(const CorpusConversation& conversation) const {
  return fraction_ > 0 && draw(conversation.id) < below_;
}

}  // namespace predgen::data
