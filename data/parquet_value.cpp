#include "data/parquet_value.h"

#include <arrow/api.h>

#include <cmath>
#include <utility>

#include "core/error.h"
#include "text/utf8.h"

namespace predgen::data {
namespace {

constexpr int64_t kBytesOfValue = 32;  // about what a JSON value takes by itself

/// As Arrow prints it.
std::string printed(const arrow::Array& array, int64_t index) {
  const auto scalar = array.GetScalar(index);
  if (!scalar.ok()) throw UserError("a column has type {}", array.type()->ToString());
  return (*scalar)->ToString();
}

/// Null unless it is finite.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

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

}  // namespace predgen::data
