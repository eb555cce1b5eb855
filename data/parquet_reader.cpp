#include "data/parquet_reader.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <set>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace predgen::data {
namespace fs = std::filesystem;

namespace {

using Array = std::shared_ptr<arrow::Array>;

/// The text at `index`, or nothing if it is null.
std::string_view text_at(const arrow::Array& array, int64_t index) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return static_cast<const arrow::StringArray&>(array).GetView(index);
    case arrow::Type::LARGE_STRING:
      return static_cast<const arrow::LargeStringArray&>(array).GetView(index);
    default:
      throw UserError("a text column has type {}", array.type()->ToString());
  }
}

bool bool_at(const arrow::Array& array, int64_t index) {
  if (array.type_id() != arrow::Type::BOOL) {
    throw UserError("a yes/no column has type {}", array.type()->ToString());
  }
  return static_cast<const arrow::BooleanArray&>(array).Value(index);
}

struct ListRange {
  Array values;
  int64_t begin = 0, end = 0;
};

ListRange list_at(const arrow::Array& array, int64_t index) {
  if (array.type_id() == arrow::Type::LIST) {
    const auto& list = static_cast<const arrow::ListArray&>(array);
    return {list.values(), list.value_offset(index), list.value_offset(index + 1)};
  }
  if (array.type_id() == arrow::Type::LARGE_LIST) {
    const auto& list = static_cast<const arrow::LargeListArray&>(array);
    return {list.values(), list.value_offset(index), list.value_offset(index + 1)};
  }
  throw UserError("a list column has type {}", array.type()->ToString());
}

Array struct_field(const Array& array, const char* name) {
  if (array->type_id() != arrow::Type::STRUCT) {
    throw UserError("a column of structures has type {}", array->type()->ToString());
  }
  Array field = static_cast<const arrow::StructArray&>(*array).GetFieldByName(name);
  if (!field) throw UserError("a column of structures has no field \"{}\"", name);
  return field;
}

class ParquetReader : public ConversationReader {
 public:
  ParquetReader(const fs::path& file, BadRows bad_rows) : file_(file), bad_rows_(bad_rows) {
    const auto input = check(arrow::io::ReadableFile::Open(file.string()));
    reader_ = check(parquet::arrow::OpenFile(input, arrow::default_memory_pool()));
    batches_ = check(reader_->GetRecordBatchReader(all_row_groups(), needed_columns()));
  }

  bool next(CorpusConversation& conversation) override {
    while (true) {
      while (!batch_ || index_ == batch_->num_rows()) {
        check(batches_->ReadNext(&batch_));
        if (!batch_) return false;
        index_ = 0;
      }
      ++row_;
      try {
        conversation = read_row(index_++);
        return true;
      } catch (const UserError& error) {
        if (bad_rows_ == BadRows::kFail) {
          throw UserError("{}:{}: {} (--skip-bad-rows skips such rows)", file_.string(), row_,
                          error.what());
        }
        ++num_bad_rows_;
      }
    }
  }

 private:
  template <typename T>
  T check(arrow::Result<T> result) {
    check(result.status());
    return std::move(result).ValueOrDie();
  }
  void check(const arrow::Status& status) {
    if (status.ok()) return;
    throw UserError("{}: not a readable Parquet file: {}", file_.string(),
                    first_line(status.ToString()));
  }

  std::vector<int> all_row_groups() const {
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    return groups;
  }

  /// The leaves of the columns that are used: moderation scores are most of a file.
  std::vector<int> needed_columns() const {
    static const std::set<std::string> kNeeded{"conversation_id", "model", "conversation",
                                               "language", "redacted"};
    const parquet::SchemaDescriptor* schema = reader_->parquet_reader()->metadata()->schema();
    std::vector<int> columns;
    bool has_conversation = false;
    for (int i = 0; i < schema->num_columns(); ++i) {
      const auto path = schema->Column(i)->path()->ToDotVector();
      const bool flag = path.front() == "openai_moderation" && path.back() == "flagged";
      if (flag || kNeeded.contains(path.front())) columns.push_back(i);
      has_conversation |= path.front() == "conversation";
    }
    if (!has_conversation) {
      throw UserError("{}: has no column \"conversation\"; the layout of lmsys-chat-1m is needed",
                      file_.string());
    }
    return columns;
  }

  std::string text(const char* column, int64_t index) const {
    const Array array = batch_->GetColumnByName(column);
    return !array || array->IsNull(index) ? "" : std::string(text_at(*array, index));
  }

  CorpusConversation read_row(int64_t index) const {
    CorpusConversation conversation;
    conversation.row = row_;
    conversation.id = text("conversation_id", index);
    if (conversation.id.empty()) {
      conversation.id = fmt::format("{}:{}", file_.filename().string(), row_);
    }
    conversation.model = text("model", index);
    conversation.language = text("language", index);
    const Array redacted = batch_->GetColumnByName("redacted");
    conversation.redacted = redacted && redacted->IsValid(index) && bool_at(*redacted, index);
    read_messages(index, conversation);
    const Array moderation = batch_->GetColumnByName("openai_moderation");
    if (moderation && moderation->IsValid(index)) {
      const ListRange list = list_at(*moderation, index);
      const Array flagged = struct_field(list.values, "flagged");
      for (int64_t i = list.begin; i < list.end; ++i) {
        conversation.flagged |= flagged->IsValid(i) && bool_at(*flagged, i);
      }
    }
    return conversation;
  }

  void read_messages(int64_t index, CorpusConversation& conversation) const {
    const Array messages = batch_->GetColumnByName("conversation");
    if (messages->IsNull(index)) throw UserError("no list \"conversation\"");
    const ListRange list = list_at(*messages, index);
    const Array roles = struct_field(list.values, "role");
    const Array contents = struct_field(list.values, "content");
    for (int64_t i = list.begin; i < list.end; ++i) {
      if (roles->IsNull(i) || contents->IsNull(i)) {
        throw UserError("a message of \"conversation\" has no text in \"role\" or \"content\"");
      }
      conversation.messages.push_back(
          {std::string(text_at(*roles, i)), std::string(text_at(*contents, i))});
    }
  }

  const fs::path file_;
  const BadRows bad_rows_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t index_ = 0, row_ = 0;
};

}  // namespace

std::unique_ptr<ConversationReader> open_parquet(const fs::path& file, BadRows bad_rows) {
  return std::make_unique<ParquetReader>(file, bad_rows);
}

}  // namespace predgen::data
