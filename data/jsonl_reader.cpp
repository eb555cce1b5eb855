#include "data/jsonl_reader.h"

#include <fstream>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "data/corpus_row.h"
#include "text/utf8.h"

namespace predgen::data {
namespace {

/// NaN and infinities, which Python writes and JSON does not have, become null.
std::string with_numbers_only(std::string_view text) {
  std::string plain;
  bool in_string = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::string_view piece = rest.substr(0, in_string && rest.front() == '\\' ? 2 : 1);
    size_t length = piece.size();
    if (rest.front() == '"') in_string = !in_string;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (in_string || !rest.starts_with(word)) continue;
      piece = "null";
      length = word.size();
    }
    plain += piece;
    at += length;
  }
  return plain;
}

Json parse(std::string_view text) {
  return checked_json("not valid JSON", [&] { return Json::parse(text); });
}

}  // namespace

PythonJson parse_python_json(std::string_view text) {
  check_json_depth(text, "not valid JSON");
  try {
    return {parse(text)};
  } catch (const UserError&) {
    const std::string whole = with_whole_surrogates(text);
    const std::string mended = with_numbers_only(whole);
    if (mended == text) throw;
    return {parse(mended), whole != text};
  }
}

namespace fs = std::filesystem;

namespace {

/// What a file that begins with these bytes is written in, by iconv's name; empty: perhaps UTF-8.
std::string wide_encoding(std::string_view start) {
  using std::string_view_literals::operator""sv;
  if (start.starts_with("\xFF\xFE\0\0"sv) || start.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (start.starts_with("\xFF\xFE"sv) || start.starts_with("\xFE\xFF"sv)) return "UTF-16";
  if (start.size() < 2 || (start[0] == '\0') == (start[1] == '\0')) return "";
  return start[1] == '\0' ? "UTF-16LE" : "UTF-16BE";  // every other byte of ASCII
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
      if (++row_ == 1) refuse_wide(line);
      if (is_blank(line)) continue;
      is_empty_ = false;
      try {
        conversation = read_row(line);
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
  void refuse_wide(std::string_view start) const {
    if (const std::string encoding = wide_encoding(start); !encoding.empty()) {
      throw UserError("{}: is written in {}, not in UTF-8: iconv -f {} -t UTF-8 makes it so",
                      file_.string(), encoding, encoding);
    }
  }

  static PythonJson parse(const std::string& line) {
    try {
      return parse_python_json(line);
    } catch (const UserError& error) {
      if (replace_ill_formed_utf8(line) != line) {
        require_utf8(line, "is not UTF-8, perhaps Latin-1: iconv -f LATIN1 -t UTF-8 makes it so");
      }
      std::string why = error.what();  // "not valid JSON: line 1, column 9: .."
      const std::string_view place = "line 1, ";
      if (const size_t at = why.find(place); at != std::string::npos) why.erase(at, place.size());
      const bool is_part = why.find("unexpected end of input") != std::string::npos;
      throw UserError("{}{}", why,
                      is_part ? "; a row is one JSON object on a line of its own" : "");
    }
  }

  static CorpusConversation read_row(const std::string& line) {
    const PythonJson row = parse(line);
    CorpusConversation conversation = parse_conversation(row.value);
    if (row.has_lone_surrogate) conversation.fault = Drop::kBrokenText;
    return conversation;
  }

  const fs::path file_;
  const BadRows bad_rows_;
  std::ifstream stream_;
  int64_t row_ = 0;
  bool is_empty_ = true;
};

}  // namespace

std::unique_ptr<ConversationReader> open_jsonl(const fs::path& file, BadRows bad_rows) {
  return std::make_unique<JsonlReader>(file, bad_rows);
}

}  // namespace predgen::data
