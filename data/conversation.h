#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "text/tokenizer.h"

namespace predgen::data {

/// Why a row gives no example; drop_name() has the names of the counters.
enum class Drop {
  kEmptyConversation,
  kToolCalls,     // a function's call or result, where the law or the layout has none
  kUnknownRole,   // not system, user or assistant
  kNoText,        // a message without a role or text, or with parts that are no text
  kBrokenText,    // half a surrogate pair, or ill-formed UTF-8
  kWrongRoles,    // does not start with the user, or two messages of one role in a row
  kEmptyMessage,  // white space only
  kMinTurns,
  kNoAnswer,    // a bare prompt, although every answer must be a target
  kLanguage,    // not one of the filter's
  kNoLanguage,  // the row gives none, but there is a filter
  kRedacted,
  kFlagged
};

/// One row of a corpus, in one of the layouts of data/corpus_row.h; a bare prompt is a user's
/// message without an answer.
struct CorpusConversation {
  std::string id;  // "<file>:<row>" if the corpus has none
  std::string model, language;
  std::vector<Message> messages;  // in turns only if check_conversation() says so
  ToolSet tools;                  // that the assistant may call; only the law whole shows them
  std::optional<Drop> fault;      // the row cannot be used, and `messages` may lack some
  bool redacted = false;
  bool flagged = false;  // the moderation flagged one of its messages
  int64_t row = 0;       // counted from 1 (the first line of a JSONL file)
};

enum class BadRows { kFail, kSkip };

/// Reads a corpus front to back. Used by one thread.
class ConversationReader {
 public:
  virtual ~ConversationReader() = default;
  /// False at the end. A row in no known layout is a UserError with file:row, or skipped and
  /// counted.
  virtual bool next(CorpusConversation& conversation) = 0;
  int64_t num_bad_rows() const { return num_bad_rows_; }

 protected:
  int64_t num_bad_rows_ = 0;
};

/// The error for a missing data set file; it says where to get public data sets.
UserError missing_data(const std::filesystem::path& file);

/// The error for a row that cannot be used.
UserError bad_row(const std::filesystem::path& file, int64_t row, const UserError& why);

/// By extension: .jsonl or .parquet; UserError for others, for .parquet in a build without it, and
/// for a missing file.
std::unique_ptr<ConversationReader> open_conversations(const std::filesystem::path& file,
                                                       BadRows bad_rows);

}  // namespace predgen::data
