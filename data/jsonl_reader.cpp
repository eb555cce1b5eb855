#include "data/jsonl_reader.h"

#include <fstream>

#include "core/error.h"
#include "core/text.h"

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

std::string text_field(const Json& message, const char* key) {
  if (!message.is_object() || !message.contains(key) || !message.at(key).is_string()) {
    throw UserError("a message of \"conversation\" has no text in \"{}\"", key);
  }
  return message.at(key).get<std::string>();
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
        if (bad_rows_ == BadRows::kFail) {
          throw UserError("{}:{}: {} (--skip-bad-rows skips such rows)", file_.string(), row_,
                          error.what());
        }
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
      throw UserError("not valid JSON");
    }
  }

  const fs::path file_;
  const BadRows bad_rows_;
  std::ifstream stream_;
  int64_t row_ = 0;
  bool is_empty_ = true;
};

}  // namespace

CorpusConversation parse_conversation(const Json& row) {
  if (!row.is_object()) throw UserError("not a JSON object");
  if (!row.contains("conversation") || !row.at("conversation").is_array()) {
    throw UserError("no list \"conversation\"");
  }
  CorpusConversation conversation;
  conversation.id = field_or<std::string>(row, "conversation_id", "");
  conversation.model = field_or<std::string>(row, "model", "");
  conversation.language = field_or<std::string>(row, "language", "");
  conversation.redacted = field_or<bool>(row, "redacted", false);
  for (const Json& message : row.at("conversation")) {
    conversation.messages.push_back({text_field(message, "role"), text_field(message, "content")});
  }
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
