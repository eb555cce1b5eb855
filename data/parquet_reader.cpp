#include "data/parquet_reader.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "data/row_layout.h"

namespace predgen::data {
namespace fs = std::filesystem;

namespace {

using Array = std::shared_ptr<arrow::Array>;

/// The text at `index`, or an empty one if it is null.
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
    find_layout();
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
        if (bad_rows_ == BadRows::kFail) throw bad_row(file_, row_, error);
        ++num_bad_rows_;
      }
    }
  }

 private:
  template <typename T>
  T check(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueOrDie();
  }
  void check(const arrow::Status& status) const {
    if (status.ok()) return;
    throw UserError("{}: not a readable Parquet file: {}", file_.string(),
                    first_line(status.ToString()));
  }

  std::vector<int> all_row_groups() const {
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    return groups;
  }

  using Path = std::vector<std::string>;

  /// The paths of the leaves of all columns.
  std::vector<Path> paths() const {
    const parquet::SchemaDescriptor* schema = reader_->parquet_reader()->metadata()->schema();
    std::vector<Path> paths;
    for (int i = 0; i < schema->num_columns(); ++i) {
      paths.push_back(schema->Column(i)->path()->ToDotVector());
    }
    return paths;
  }

  /// Finds the column of messages; UserError if there is none.
  void find_layout() {
    const std::vector<Path> leaves = paths();
    for (const MessageLayout& layout : kMessageLayouts) {
      for (const Path& leaf : leaves) {
        if (leaf.front() != layout.list) continue;
        if (layout_ == nullptr || leaf.back() == layout.role) layout_ = &layout;
        if (leaf.back() == layout.role) return;
      }
    }
    if (layout_ != nullptr) return;  // its messages lack fields that the error will name
    for (const char* key : kPromptKeys) {
      if (std::ranges::find(leaves, Path{key}) != leaves.end()) {
        prompt_column_ = key;
        return;
      }
    }
    throw UserError(
        "{}: has no column \"conversation\", \"messages\", \"conversations\", \"prompt\" or "
        "\"text\"",
        file_.string());
  }

  /// The leaves of the columns that are used: moderation scores are most of a file.
  std::vector<int> needed_columns() {
    std::set<std::string> needed{"conversation_id", "model", "language", "redacted"};
    needed.insert(layout_ != nullptr ? layout_->list : prompt_column_);
    const std::vector<Path> leaves = paths();
    const bool has_id = std::ranges::any_of(
        leaves, [](const Path& leaf) { return leaf.front() == "conversation_id"; });
    id_column_ = has_id ? "conversation_id" : "id";
    needed.insert(id_column_);
    std::vector<int> columns;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const bool flag = leaves[i].front() == "openai_moderation" && leaves[i].back() == "flagged";
      if (flag || needed.contains(leaves[i].front())) columns.push_back(static_cast<int>(i));
    }
    return columns;
  }

  std::string text(const char* column, int64_t index) const {
    const Array array = batch_->GetColumnByName(column);
    return !array || array->IsNull(index) ? "" : std::string(text_at(*array, index));
  }

  std::string id(int64_t index) const {
    const Array array = batch_->GetColumnByName(id_column_);
    if (!array || array->IsNull(index)) return "";
    if (!arrow::is_integer(array->type_id())) return std::string(text_at(*array, index));
    return check(array->GetScalar(index))->ToString();
  }

  CorpusConversation read_row(int64_t index) const {
    CorpusConversation conversation;
    conversation.row = row_;
    conversation.id = id(index);
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
    if (layout_ == nullptr) {
      conversation.messages.push_back({"user", text(prompt_column_.c_str(), index)});
      return;
    }
    const Array messages = batch_->GetColumnByName(layout_->list);
    if (messages->IsNull(index)) throw UserError("no list \"{}\"", layout_->list);
    const ListRange list = list_at(*messages, index);
    const Array roles = struct_field(list.values, layout_->role);
    const Array texts = struct_field(list.values, layout_->text);
    for (int64_t i = list.begin; i < list.end; ++i) {
      if (roles->IsNull(i) || texts->IsNull(i)) {
        throw UserError("a message of \"{}\" has no text in \"{}\" or \"{}\"", layout_->list,
                        layout_->role, layout_->text);
      }
      conversation.messages.push_back(
          {role_named(std::string(text_at(*roles, i))), std::string(text_at(*texts, i))});
    }
  }

  const fs::path file_;
  const BadRows bad_rows_;
  const MessageLayout* layout_ = nullptr;  // null: each row is a bare prompt
  std::string prompt_column_, id_column_;
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
