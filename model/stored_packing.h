#pragma once

#include <cstdint>
#include <functional>

#include "kernels/grouped_matrix.h"
#include "kernels/quantize_rows.h"

namespace predgen {

struct CodeLayout;  // of tensors/stored_tensors.h
struct CodedRows;

/// Rows [begin,end) of a matrix.
using CodedRowsOf = std::function<CodedRows(int64_t begin, int64_t end)>;

/// Calls `visit` with all rows of a matrix, and the first one's number, by several threads at once:
/// whole panels but for the last, as many rows as stay in a core's own cache until they are packed.
/// Error if what `rows` gives does not fit the layout; it is called by several threads at once.
void for_each_coded_rows(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                         const std::function<void(const CodedRows& coded, int64_t begin)>& visit);

/// Packs a matrix [out,in] with its stored codes: in 4 bits if they have at most 16 values, else in
/// 8. The only loss is the rounding of scales and offsets to float16, and that of a book's values
/// (CodeBook); `error` gets it, not finite if float16 cannot represent one. `rows` as of
/// for_each_coded_rows(). Error if a code does not fit the layout.
GroupedMatrix pack_as_stored(const CodeLayout& layout, int64_t out, int64_t in,
                             const CodedRowsOf& rows, RowError& error);

}  // namespace predgen
