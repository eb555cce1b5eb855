#include "data/parquet_reader.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/type_fwd.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "data/corpus_row.h"
#include "text/utf8.h"

namespace predgen::data {
namespace {

/// Decodes cells of Arrow columns to JSON, whatever they are stored as: dictionaries, lists of a
/// fixed size, large types. Used by one thread.
class ParquetValues {
 public:
  /// A dictionary or a run of equal cells may decode to far more than a file holds: no more than
  /// `most_bytes` in all.
  explicit ParquetValues(int64_t most_bytes) : bytes_left_(most_bytes) {}

  /// Numbers that are not finite are null, ill-formed UTF-8 is U+FFFD, and types that JSON lacks
  /// are text. TooMuch when the values of all calls exceed `most_bytes`.
  Json at(const arrow::Array& array, int64_t index);

  /// Whether a text since the last call was no well-formed UTF-8.
  bool take_broken_text();

  struct TooMuch {};

 private:
  Json list(const arrow::Array& values, int64_t begin, int64_t end);
  Json text(std::string_view bytes);
  void pay(int64_t bytes);

  int64_t bytes_left_;
  bool has_broken_text_ = false;
};

constexpr int64_t kBytesOfValue = 32;  // about what a JSON value takes by itself

/// As Arrow prints it.
std::string printed(const arrow::Array& array, int64_t index) {
  const auto scalar = array.GetScalar(index);
  if (!scalar.ok()) throw UserError("a column has type {}", array.type()->ToString());
  return (*scalar)->ToString();
}

/// Null unless it is finite.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

void ParquetValues::pay(int64_t bytes) {
  bytes_left_ -= bytes;
  if (bytes_left_ < 0) throw TooMuch();
}

bool ParquetValues::take_broken_text() { return std::exchange(has_broken_text_, false); }

Json ParquetValues::text(std::string_view bytes) {
  pay(static_cast<int64_t>(bytes.size()));
  std::string text = replace_ill_formed_utf8(bytes);
  has_broken_text_ |= text != bytes;
  return text;
}

Json ParquetValues::list(const arrow::Array& values, int64_t begin, int64_t end) {
  Json list = Json::array();
  for (int64_t i = begin; i < end; ++i) list.push_back(at(values, i));
  return list;
}

Json ParquetValues::at(const arrow::Array& array, int64_t index) {
  pay(kBytesOfValue);
  if (array.IsNull(index)) return {};
  using arrow::Type;
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:  // as writers that know no text types have it
      return text(static_cast<const arrow::BinaryArray&>(array).GetView(index));
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return text(static_cast<const arrow::LargeBinaryArray&>(array).GetView(index));
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return text(static_cast<const arrow::BinaryViewArray&>(array).GetView(index));
    case Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(index);
    case Type::FLOAT:
      return finite(static_cast<const arrow::FloatArray&>(array).Value(index));
    case Type::DOUBLE:
      return finite(static_cast<const arrow::DoubleArray&>(array).Value(index));
    case Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return at(*coded.dictionary(), coded.GetValueIndex(index));
    }
    case Type::LIST:
    case Type::MAP: {
      const auto& lists = static_cast<const arrow::ListArray&>(array);
      return list(*lists.values(), lists.value_offset(index), lists.value_offset(index + 1));
    }
    case Type::LARGE_LIST: {
      const auto& lists = static_cast<const arrow::LargeListArray&>(array);
      return list(*lists.values(), lists.value_offset(index), lists.value_offset(index + 1));
    }
    case Type::FIXED_SIZE_LIST: {
      const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
      return list(*lists.values(), lists.value_offset(index), lists.value_offset(index + 1));
    }
    case Type::STRUCT: {
      const auto& rows = static_cast<const arrow::StructArray&>(array);
      Json object = Json::object();
      for (int i = 0; i < rows.num_fields(); ++i) {
        object[rows.struct_type()->field(i)->name()] = at(*rows.field(i), index);
      }
      return object;
    }
    case Type::EXTENSION:
      return at(*static_cast<const arrow::ExtensionArray&>(array).storage(), index);
    default:
      break;
  }
  if (arrow::is_integer(array.type_id())) return Json::parse(printed(array, index));
  return text(printed(array, index));
}

}  // namespace

namespace fs = std::filesystem;

namespace {

constexpr int64_t kMiB = 1 << 20;
/// Of a column, decoded at a time: a cell may be large.
constexpr int64_t kRowsAtATime = 256;
/// What decoding may hold at a time, and what all rows together may decode to: so much for any
/// file, and so many times its size.
constexpr int64_t kLeastMemory = 256 * kMiB, kMemoryRatio = 8;
constexpr int64_t kLeastDecoded = 64 * kMiB, kDecodedRatio = 1000;

/// The columns that are read: moderation scores are most of a file.
std::set<std::string> read_columns() {
  std::set<std::string> names{"conversation_id", "id", "model", "language", "redacted"};
  const auto add = [&](const auto& keys) { names.insert(keys.begin(), keys.end()); };
  add(kMessageLists);
  add(kQuestionKeys);
  add(kAnswerKeys);
  add(kContextKeys);
  add(kSystemKeys);
  add(kPreferenceKeys);
  return names;
}

bool is_read(const std::vector<std::string>& path) {
  static const std::set<std::string> names = read_columns();
  return names.contains(path.front()) ||
         (path.front() == "openai_moderation" && path.back() == "flagged");
}

class ParquetReader : public ConversationReader {
 public:
  ParquetReader(const fs::path& file, BadRows bad_rows)
      : file_(file),
        bad_rows_(bad_rows),
        num_bytes_(static_cast<int64_t>(fs::file_size(file))),
        pool_(&counted_, kLeastMemory + kMemoryRatio * num_bytes_),
        values_(kLeastDecoded + kDecodedRatio * num_bytes_) {
    parquet::arrow::FileReaderBuilder builder;
    const auto input = check(arrow::io::ReadableFile::Open(file.string(), &pool_));
    check(builder.Open(input, parquet::ReaderProperties(&pool_)));
    parquet::ArrowReaderProperties properties;
    properties.set_batch_size(kRowsAtATime);
    properties.set_pre_buffer(false);  // no thread of Arrow's holds memory of `pool_`
    builder.memory_pool(&pool_)->properties(properties);
    reader_ = check(builder.Build());
    check_columns();
    batches_ = check(reader_->GetRecordBatchReader(all_row_groups(), needed_columns()));
  }

  bool next(CorpusConversation& conversation) override {
    while (true) {
      while (!batch_ || index_ == batch_->num_rows()) {
        batch_.reset();
        check(batches_->ReadNext(&batch_));
        if (!batch_) return false;
        index_ = 0;
      }
      ++row_;
      try {
        conversation = read_row(index_++);
        return true;
      } catch (const ParquetValues::TooMuch&) {
        throw UserError(
            "{}: has {} kB, but its rows decode to more than {} MiB: if that is meant, write it as "
            "JSON lines",
            file_.string(), num_bytes_ / 1000, (kLeastDecoded + kDecodedRatio * num_bytes_) / kMiB);
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
    if (status.IsOutOfMemory()) {
      throw UserError(
          "{}: {} of its rows decode to more than {} MiB: if that is meant, write it with smaller "
          "pages, or as JSON lines",
          file_.string(), kRowsAtATime, (kLeastMemory + kMemoryRatio * num_bytes_) / kMiB);
    }
    throw UserError("{}: not a readable Parquet file: {}", file_.string(),
                    first_line(status.ToString()));
  }

  std::vector<int> all_row_groups() const {
    std::vector<int> groups(static_cast<size_t>(reader_->num_row_groups()));
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    return groups;
  }

  const parquet::SchemaDescriptor& schema() const {
    return *reader_->parquet_reader()->metadata()->schema();
  }

  /// UserError if two fields of a used column have one name, since either may be meant.
  void check_names(const parquet::schema::Node& node, const std::string& place) const {
    if (!node.is_group()) return;
    const auto& group = static_cast<const parquet::schema::GroupNode&>(node);
    std::set<std::string> names;
    for (int i = 0; i < group.field_count(); ++i) {
      const parquet::schema::Node& field = *group.field(i);
      if (place.empty() && !is_read({field.name()}) && field.name() != "openai_moderation")
        continue;
      if (!names.insert(field.name()).second) {
        throw UserError("{}: has two columns \"{}{}\": rename or drop one", file_.string(), place,
                        field.name());
      }
      check_names(field, place + field.name() + ".");
    }
  }

  /// UserError if there is nothing to read.
  void check_columns() const {
    const parquet::schema::GroupNode& root = *schema().group_node();
    check_names(root, "");
    bool has_messages = false, has_question = false;
    for (int i = 0; i < root.field_count(); ++i) {
      const parquet::schema::Node& field = *root.field(i);
      const auto is_it = [&](const char* name) { return field.name() == name; };
      has_question |= std::ranges::any_of(kQuestionKeys, is_it);
      if (std::ranges::none_of(kMessageLists, is_it)) continue;
      has_messages = true;
      if (field.is_primitive()) {
        throw UserError(
            "{0}: column \"{1}\" holds text, perhaps JSON, not lists of messages; JSON lines are "
            "read: python3 -c 'import json, pandas; [print(json.dumps({{\"{1}\": json.loads(x)}})) "
            "for x in pandas.read_parquet(\"{0}\")[\"{1}\"]]' > chats.jsonl",
            file_.string(), field.name());
      }
    }
    if (has_messages || has_question) return;
    throw UserError(
        "{}: has no column \"conversation\", \"messages\", \"conversations\", \"prompt\", "
        "\"instruction\" or \"text\"",
        file_.string());
  }

  std::vector<int> needed_columns() const {
    std::vector<int> columns;
    for (int i = 0; i < schema().num_columns(); ++i) {
      if (is_read(schema().Column(i)->path()->ToDotVector())) columns.push_back(i);
    }
    return columns;
  }

  CorpusConversation read_row(int64_t index) {
    Json row = Json::object();
    for (int i = 0; i < batch_->num_columns(); ++i) {
      row[batch_->column_name(i)] = values_.at(*batch_->column(i), index);
    }
    const bool has_broken_text = values_.take_broken_text();
    CorpusConversation conversation = parse_conversation(row);
    if (has_broken_text) conversation.fault = Drop::kBrokenText;
    conversation.row = row_;
    if (conversation.id.empty()) {
      conversation.id = fmt::format("{}:{}", file_.filename().string(), row_);
    }
    return conversation;
  }

  const fs::path file_;
  const BadRows bad_rows_;
  const int64_t num_bytes_;
  arrow::ProxyMemoryPool counted_{arrow::default_memory_pool()};
  arrow::CappedMemoryPool pool_;
  ParquetValues values_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t index_ = 0, row_ = 0;
};

}  // namespace

std::unique_ptr<ConversationReader> open_parquet(const fs::path& file, BadRows bad_rows) {
  if (fs::is_directory(file)) {
    throw UserError("{}: is a folder: name its files, as {}/*.parquet", file.string(),
                    file.string());
  }
  return std::make_unique<ParquetReader>(file, bad_rows);
}

}  // namespace predgen::data
