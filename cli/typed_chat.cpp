#include "cli/typed_chat.h"

#include <algorithm>
#include <utility>

#include "cli/terminal/display_text.h"
#include "core/error.h"
#include "core/text.h"

namespace predgen::cli {

namespace {

constexpr const char* kLoading = "the model is loading";

}  // namespace

TypedChat::TypedChat(TypedLineSource& source, ChatChoices choices)
    : source_(source), choices_(std::move(choices)) {
  picture_.notice = kLoading;
}

void TypedChat::press(const Key& key) {
  if (leaving_) return;
  const bool was_cancelled = std::exchange(cancelled_, false);
  if (was_cancelled) picture_.notice.clear();
  if (key.kind == Key::Kind::kEnter) {
    send();
  } else if (key.kind == Key::Kind::kCancel) {
    cancelled_ = was_cancelled;
    cancel();
  } else if (key.kind == Key::Kind::kLeave && editor_.text().empty()) {
    leave();
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
  if (std::exchange(waiting_, false)) picture_.notice = loading_ ? kLoading : "";
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
  if (!editor_.text().empty()) {
    editor_.clear();
    after_edit();
  } else if (!loading_ && busy_ && turn_.request_stop()) {
    picture_.notice = "stopping";
  } else if (busy_ || cancelled_) {
    leave();
  } else {
    cancelled_ = true;
    picture_.notice = "Ctrl-C again, or Ctrl-D, leaves";
  }
}

void TypedChat::wait(const std::string& what) {
  waiting_ = true;
  picture_.notice = what + (loading_ ? " when the model is loaded" : " when this turn is over");
}

void TypedChat::send() {
  if (is_blank(editor_.text())) return;
  if (is_command(editor_.text())) {
    run_command(editor_.text());
  } else if (busy_) {
    wait("sent");
  } else {
    busy_ = true;
    forget_draft();
    const std::string line = editor_.send();
    scroll_sent(line);
    source_.commit(spoken_text(line));
  }
}

void TypedChat::run_command(const std::string& line) {
  std::optional<ChatCommand> command;
  std::string reply;
  try {
    command = parse_command(line, choices_);
    if (command->kind == ChatCommand::Kind::kHelp) reply = command_help(choices_);
  } catch (const UserError& error) {
    reply = std::string(error.what()) + "\n";
  }
  const bool is_for_model = command && reply.empty() && command->kind != ChatCommand::Kind::kQuit;
  if (is_for_model && busy_) {
    wait("carried out");
    return;
  }
  scroll_sent(editor_.send());
  scrolled_ += printable(reply);
  if (is_for_model) {
    busy_ = true;
    command_ = command;
    source_.break_turn();
  } else if (command && command->kind == ChatCommand::Kind::kQuit) {
    leave();
  }
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
  picture_.notice.clear();
  if (leaving_) turn_.request_stop();
  if (std::exchange(waiting_, false)) send();
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
  return region_.draw(std::exchange(scrolled_, ""), compose_frame(picture_, size), size.columns);
}

std::string TypedChat::draw_end(const ScreenSize& size) {
  return region_.draw(std::exchange(scrolled_, ""), {.rows = {{}}}, size.columns);
}

}  // namespace predgen::cli
