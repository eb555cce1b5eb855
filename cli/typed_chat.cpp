#include "cli/typed_chat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/terminal/display_text.h"
#include "core/error.h"
#include "core/text.h"

namespace predgen::cli {

namespace {

/// A key on an empty line that takes the last waiting one back.
bool takes_back(const Key& key) {
  constexpr std::array kBack{Key::Kind::kBackspace,  Key::Kind::kLeft, Key::Kind::kWordLeft,
                             Key::Kind::kHome,       Key::Kind::kUp,   Key::Kind::kKillWord,
                             Key::Kind::kKillToStart};
  return std::ranges::find(kBack, key.kind) != kBack.end();
}

}  // namespace

TypedChat::TypedChat(TypedLineSource& source, ChatChoices choices)
    : source_(source), choices_(std::move(choices)) {}

void TypedChat::press(const Key& key) {
  if (leaving_) return;
  const bool was_cancelled = std::exchange(cancelled_, false);
  if (key.kind == Key::Kind::kEnter) {
    send();
  } else if (key.kind == Key::Kind::kCancel) {
    cancelled_ = was_cancelled;
    cancel();
  } else if (key.kind == Key::Kind::kLeave && editor_.text().empty()) {
    leave();
  } else if (editor_.text().empty() && !waiting_.empty() && takes_back(key)) {
    editor_.set(waiting_.back());
    waiting_.pop_back();
    after_edit();
  } else if (editor_.press(key)) {
    after_edit();
  }
}

void TypedChat::leave() {
  leaving_ = true;
  source_.close();
  turn_.request_stop();
}

void TypedChat::after_edit() {
  if (!waiting_.empty()) return;  // they are heard first
  const std::string& line = editor_.text();
  if (is_blank(line) || is_command(line)) {
    forget_draft();
    source_.edit("", 0);
    return;
  }
  const std::string text = spoken_text(line);
  const size_t dropped = line.size() - text.size();
  source_.edit(text, std::max(editor_.cursor(), dropped) - dropped);
}

void TypedChat::cancel() {
  if (!editor_.text().empty() || !waiting_.empty()) {
    waiting_.clear();
    editor_.clear();
    after_edit();
    return;
  }
  if (!loading_ && busy_ && turn_.request_stop()) return;
  if (busy_ || cancelled_) leave();
  cancelled_ = true;
}

void TypedChat::send() {
  const std::string line = editor_.text();
  if (is_blank(line) || answer_at_once(line)) return;
  editor_.send();
  if (busy_) {
    waiting_.push_back(line);
  } else {
    submit(line);
  }
}

bool TypedChat::answer_at_once(const std::string& line) {
  if (!is_command(line)) return false;
  std::string reply;
  try {
    switch (parse_command(line, choices_).kind) {
      case ChatCommand::Kind::kHelp:
        reply = command_help(choices_);
        break;
      case ChatCommand::Kind::kQuit:
        leave();
        break;
      default:
        return false;
    }
  } catch (const UserError& error) {
    reply = std::string(error.what()) + "\n";
  }
  scroll_sent(editor_.send());
  scrolled_ += printable(reply);
  return true;
}

void TypedChat::submit(const std::string& line) {
  busy_ = true;
  forget_draft();
  scroll_sent(line);
  if (is_command(line)) {
    command_ = parse_command(line, choices_);
    source_.break_turn();
  } else {
    source_.commit(spoken_text(line));
  }
}

std::string TypedChat::notice() const {
  if (leaving_) return "";
  if (cancelled_) return "Ctrl-C again, or Ctrl-D, leaves";
  const std::string loaded = loaded_percent_ ? fmt::format(" ({} %)", *loaded_percent_) : "";
  if (!waiting_.empty()) {
    return on_one_line(
        fmt::format("{} {}: {}", is_command(waiting_.front()) ? "carried out" : "sent",
                    loading_ ? "when the model is loaded" + loaded : "when this turn is over",
                    fmt::join(waiting_, " | ")));
  }
  if (loading_) return "the model is loading" + loaded;
  return busy_ && turn_.stop_requested() ? "stopping" : "";
}

void TypedChat::scroll_sent(const std::string& line) { scrolled_ += "> " + printable(line) + "\n"; }

void TypedChat::forget_draft() {
  picture_.draft.clear();
  sentence_.clear();
  has_sound_ = false;
  show_marks();
}

std::stop_token TypedChat::begin_turn() {
  loading_ = busy_ = false;
  turn_ = std::stop_source();
  if (leaving_) turn_.request_stop();
  if (!waiting_.empty()) {
    const std::string line = waiting_.front();
    waiting_.pop_front();
    submit(line);
    after_edit();  // what was typed since is heard from now on
  }
  return turn_.get_token();
}

void TypedChat::show_draft(const std::string& draft, size_t accepted_bytes) {
  if (busy_ || is_blank(editor_.text()) || is_command(editor_.text())) return;
  picture_.draft = printable(draft);
  picture_.draft_accepted = std::min(accepted_bytes, draft.size());
  show_marks();
}

void TypedChat::mark_first_sentence(const std::string& sentence) {
  if (busy_ || is_blank(editor_.text())) return;
  if (sentence_ != printable(sentence)) has_sound_ = false;
  sentence_ = printable(sentence);
  show_marks();
}

void TypedChat::mark_sound(const std::string& sentence) {
  if (sentence != sentence_) return;
  has_sound_ = !sentence_.empty();
  show_marks();
}

void TypedChat::show_marks() {
  const bool shown = !sentence_.empty() && picture_.draft.find(sentence_) != std::string::npos;
  picture_.sentence_ready = shown;
  picture_.sound_ready = shown && has_sound_;
}

void TypedChat::print_answer(const std::string& text) {
  std::string& answer = picture_.answer;
  answer += printable(text);
  const size_t num_whole = answer.rfind('\n') + 1;  // npos + 1 is 0
  scrolled_ += answer_lines(answer.substr(0, num_whole), size_);
  answer.erase(0, num_whole);
  if (const size_t num_over = answer_overflow(answer, size_); num_over > 0) {
    scrolled_ += answer_lines(answer.substr(0, num_over), size_) + "\n";
    answer.erase(0, num_over);
  }
}

void TypedChat::end_turn(const std::string& summary) {
  if (!picture_.answer.empty()) {
    scrolled_ += answer_lines(std::exchange(picture_.answer, ""), size_) + "\n";
  }
  if (!summary.empty()) scrolled_ += "\033[2m" + printable(summary) + "\033[0m\n";
}

void TypedChat::print_line(const std::string& text) { scrolled_ += printable(text) + "\n"; }

std::optional<ChatCommand> TypedChat::take_command() { return std::exchange(command_, {}); }

std::string TypedChat::draw(const ScreenSize& size) {
  size_ = size;
  picture_.line = printable(editor_.text());
  picture_.cursor = editor_.cursor();
  picture_.notice = notice();
  return region_.draw(std::exchange(scrolled_, ""), compose_frame(picture_, size), size.columns);
}

std::string TypedChat::draw_end(const ScreenSize& size) {
  return region_.draw(std::exchange(scrolled_, ""), {.rows = {{}}}, size.columns);
}

}  // namespace predgen::cli
