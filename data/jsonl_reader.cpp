#include "data/jsonl_reader.h"

#include <fstream>

#include "core/error.h"
#include "core/text.h"
#include "data/row_layout.h"

namespace predgen::data {
namespace fs = std::filesystem;

namespace {

/// A field that a corpus may lack or leave null.
template <typename T>
T field_or(const Json& row, const char* key, T fallback) {
  if (!row.contains(key) || row.at(key).is_null()) return fallback;
  try {
    return row.at(key).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw UserError("\"{}\" has the wrong type", key);
  }
}

std::string text_field(const Json& message, const char* key, const char* list) {
  if (!message.is_object() || !message.contains(key) || !message.at(key).is_string()) {
    throw UserError("a message of \"{}\" has no text in \"{}\"", list, key);
  }
  return message.at(key).get<std::string>();
}

bool has(const Json& row, const char* key) { return row.contains(key) && !row.at(key).is_null(); }

/// Null if the row has no list of messages.
const MessageLayout* layout_of(const Json& row) {
  const MessageLayout* found = nullptr;
  for (const MessageLayout& layout : kMessageLayouts) {
    if (!has(row, layout.list)) continue;
    const Json& list = row.at(layout.list);
    if (!list.is_array()) throw UserError("\"{}\" is no list", layout.list);
    if (list.empty() || !list.front().is_object() || list.front().contains(layout.role)) {
      return &layout;
    }
    if (found == nullptr) found = &layout;  // unless a later one matches: names what is missing
  }
  return found;
}

std::vector<Message> messages_of(const Json& row) {
  std::vector<Message> messages;
  if (const MessageLayout* layout = layout_of(row)) {
    for (const Json& message : row.at(layout->list)) {
      const std::string role = text_field(message, layout->role, layout->list);
      messages.push_back({role_named(role), text_field(message, layout->text, layout->list)});
    }
    return messages;
  }
  const char* key = prompt_key(row);
  if (!has(row, key)) throw UserError(kNoMessages);
  return {{"user", field_or<std::string>(row, key, "")}};
}

/// Empty if the row has none.
std::string id_of(const Json& row) {
  for (const char* key : {"conversation_id", "id"}) {
    if (!has(row, key)) continue;
    const Json& id = row.at(key);
    return id.is_number_integer() ? id.dump() : field_or<std::string>(row, key, "");
  }
  return "";
}

class JsonlReader : public ConversationReader {
 public:
  JsonlReader(const fs::path& file, BadRows bad_rows)
      : file_(file), bad_rows_(bad_rows), stream_(file) {
    if (fs::is_directory(file)) throw UserError("{}: is a folder, not a file", file.string());
    if (!stream_) throw UserError("{}: cannot be read", file.string());
  }

  bool next(CorpusConversation& conversation) override {
    std::string line;
    while (std::getline(stream_, line)) {
      ++row_;
      if (is_blank(line)) continue;
      is_empty_ = false;
      try {
        conversation = parse_conversation(parse(line));
        conversation.row = row_;
        if (conversation.id.empty()) {
          conversation.id = fmt::format("{}:{}", file_.filename().string(), row_);
        }
        return true;
      } catch (const UserError& error) {
        if (bad_rows_ == BadRows::kFail) throw bad_row(file_, row_, error);
        ++num_bad_rows_;
      }
    }
    if (stream_.bad()) throw Error("{}: reading failed", file_.string());
    if (is_empty_)
      throw UserError("{}: is empty: give a file of one conversation a line", file_.string());
    return false;
  }

 private:
  static Json parse(const std::string& line) {
    try {
      return Json::parse(line);
    } catch (const nlohmann::json::exception&) {
      throw UserError("not valid JSON: a row is one JSON object on a line of its own");
    }
  }

  const fs::path file_;
  const BadRows bad_rows_;
  std::ifstream stream_;
  int64_t row_ = 0;
  bool is_empty_ = true;
};

}  // namespace

const char* prompt_key(const Json& row) {
  for (const char* key : kPromptKeys) {
    if (row.is_object() && has(row, key)) return key;
  }
  return kPromptKeys.front();
}

CorpusConversation parse_conversation(const Json& row) {
  if (!row.is_object()) throw UserError("not a JSON object");
  CorpusConversation conversation;
  conversation.id = id_of(row);
  conversation.model = field_or<std::string>(row, "model", "");
  conversation.language = field_or<std::string>(row, "language", "");
  conversation.redacted = field_or<bool>(row, "redacted", false);
  conversation.messages = messages_of(row);
  for (const Json& moderation : field_or<Json>(row, "openai_moderation", Json::array())) {
    if (!moderation.is_object()) throw UserError("\"openai_moderation\" has the wrong type");
    conversation.flagged |= field_or<bool>(moderation, "flagged", false);
  }
  return conversation;
}

std::unique_ptr<ConversationReader> open_jsonl(const fs::path& file, BadRows bad_rows) {
  return std::make_unique<JsonlReader>(file, bad_rows);
}

}  // namespace predgen::data
