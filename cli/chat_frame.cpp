#include "cli/chat_frame.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/terminal/display_text.h"

namespace predgen::cli {
namespace {

constexpr std::string_view kPrompt = "> ";
constexpr int kPromptWidth = 2;
constexpr size_t kDraftRows = 8;  // at most
constexpr const char* kDim = "\033[2m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kPlain = "\033[0m";

size_t columns_of(const ScreenSize& size) { return static_cast<size_t>(std::max(size.columns, 8)); }
size_t rows_of(const ScreenSize& size) { return static_cast<size_t>(std::max(size.rows, 4)); }

std::string bytes_of(std::string_view text, size_t begin, size_t end) {
  std::string bytes(text.substr(begin, end - begin));
  std::replace(bytes.begin(), bytes.end(), '\t', ' ');
  return bytes;
}

std::vector<TextRow> rows_of_line(const ChatPicture& picture, int columns) {
  std::vector<TextRow> rows = wrap(picture.line, columns, kPromptWidth);
  const int room = columns - (rows.size() == 1 ? kPromptWidth : 0);
  // The cursor needs a place after a full row.
  if (picture.cursor == picture.line.size() && rows.back().width == room) {
    rows.push_back({picture.line.size(), picture.line.size()});
  }
  return rows;
}

void add_line(Frame& frame, const ChatPicture& picture, int columns, size_t max_rows) {
  const std::vector<TextRow> rows = rows_of_line(picture, columns);
  // The last row that begins at or before the cursor: after a full row it is the next one.
  size_t cursor_row = rows.size() - 1;
  while (rows[cursor_row].begin > picture.cursor) --cursor_row;
  const size_t shown = std::min(rows.size(), max_rows);
  const size_t first = std::min(cursor_row - std::min(cursor_row, shown / 2), rows.size() - shown);
  for (size_t i = first; i < first + shown; ++i) {
    const std::string prompt(i == 0 ? kPrompt : "");
    const int prompt_width = i == 0 ? kPromptWidth : 0;
    if (i == cursor_row) {
      frame.cursor_row = frame.rows.size();
      frame.before_cursor = prompt + bytes_of(picture.line, rows[i].begin, picture.cursor);
      frame.cursor_column =
          prompt_width +
          wrap(std::string_view(picture.line).substr(rows[i].begin, picture.cursor - rows[i].begin),
               columns)
              .back()
              .width;
    }
    frame.rows.push_back({prompt + bytes_of(picture.line, rows[i].begin, rows[i].end),
                          prompt_width + rows[i].width});
  }
}

void add_notice(Frame& frame, const std::string& notice, int columns) {
  const TextRow shown = wrap(notice, columns).front();
  frame.rows.push_back({kDim + notice.substr(0, shown.end) + kPlain, shown.width});
}

void add_draft(Frame& frame, const ChatPicture& picture, size_t columns, size_t max_rows) {
  if (picture.draft.empty() || max_rows == 0) return;
  std::string header = "-- draft";
  if (picture.sentence_ready) header += " -- first sentence ready";
  if (picture.sound_ready) header += " -- its sound ready";
  const size_t size = std::min(header.size(), columns);
  const size_t plain = std::min<size_t>(8, size);  // the marks stand out
  frame.rows.push_back({kDim + header.substr(0, plain) + kPlain + kGreen +
                            header.substr(plain, size - plain) + kPlain,
                        static_cast<int>(size)});
  const std::vector<TextRow> rows = wrap_words(picture.draft, static_cast<int>(columns));
  const size_t shown = std::min({rows.size(), max_rows - 1, kDraftRows});
  for (size_t i = rows.size() - shown; i < rows.size(); ++i) {
    const size_t border = std::clamp(picture.draft_accepted, rows[i].begin, rows[i].end);
    std::string bytes;
    if (border > rows[i].begin) {
      bytes += kGreen + bytes_of(picture.draft, rows[i].begin, border) + kPlain;
    }
    if (border < rows[i].end) {
      bytes += kDim + bytes_of(picture.draft, border, rows[i].end) + kPlain;
    }
    frame.rows.push_back({bytes, rows[i].width});
  }
}

/// Rows that an answer may take: the line and a notice need some too.
size_t answer_rows(const ScreenSize& size) {
  constexpr size_t kOthers = 6;
  return rows_of(size) > kOthers ? rows_of(size) - kOthers : 1;
}

}  // namespace

Frame compose_frame(const ChatPicture& picture, const ScreenSize& size) {
  const size_t num_columns = columns_of(size), num_rows = rows_of(size);
  const int columns = static_cast<int>(num_columns);
  Frame frame;
  if (!picture.answer.empty()) {
    const std::vector<TextRow> rows = wrap_words(picture.answer, columns);
    for (size_t i = rows.size() - std::min(rows.size(), answer_rows(size)); i < rows.size(); ++i) {
      frame.rows.push_back({bytes_of(picture.answer, rows[i].begin, rows[i].end), rows[i].width});
    }
  }
  add_line(frame, picture, columns, std::min(num_rows / 2, picture.answer.empty() ? num_rows : 4));
  if (!picture.notice.empty()) add_notice(frame, picture.notice, columns);
  add_draft(frame, picture, num_columns, num_rows - frame.rows.size());
  return frame;
}

std::string answer_lines(const std::string& text, const ScreenSize& size) {
  return broken_at_words(text, static_cast<int>(columns_of(size)));
}

size_t answer_overflow(const std::string& answer, const ScreenSize& size) {
  const std::vector<TextRow> rows = wrap_words(answer, static_cast<int>(columns_of(size)));
  const size_t room = answer_rows(size);
  return rows.size() > room ? rows[rows.size() - room].begin : 0;
}

}  // namespace predgen::cli
