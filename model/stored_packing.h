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

/// A matrix [out,in] with the codes that it is stored in: in 4 bits if they have at most 16 values,
/// else in 8. Scales and offsets are rounded to float16, which is all that is lost; `error` gets
/// what that is, not finite if float16 has no number for one. `rows` is asked for about a million
/// values at a time. Error if a code is not of the layout.
GroupedMatrix pack_as_stored(const CodeLayout& layout, int64_t out, int64_t in,
                             const CodedRowsOf& rows, RowError& error);

}  // namespace predgen
