#include "hear/asr/failure_report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/text.h"
#include "hear/asr/ears.h"

namespace predgen::ears {
namespace {

constexpr size_t kLongest = 400;  // bytes of a message

FailureReport* report_of_program = nullptr;

}  // namespace
}  // namespace predgen::ears

/// sherpa-onnx ends the program with this; its call finds this one instead of the C library's.
extern "C" void _Exit(int code) noexcept {
  if (predgen::ears::report_of_program != nullptr) predgen::ears::report_of_program->on_exit();
  ::_exit(code);
}

namespace predgen::ears {

FailureReport::FailureReport(int out)
    : out_(out),
      errors_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)),
      log_(::memfd_create("predgen-ears", MFD_CLOEXEC)) {
  if (log_ >= 0) ::dup2(log_, STDERR_FILENO);
  report_of_program = this;
  ::on_exit([](int, void* self) { static_cast<FailureReport*>(self)->on_exit(); }, this);
}

void FailureReport::set_part(std::string part) {
  const Lock lock(mutex_);
  part_ = std::move(part);
}

void FailureReport::fail(const std::string& why, int exit_code) {
  const Lock lock(mutex_);
  const std::string line = shortened(first_line(why), kLongest);
  struct stat out {};
  const bool has_client = ::fstat(out_, &out) == 0 && S_ISSOCK(out.st_mode);
  if (has_client) {
    Service::write_frame(out_, {.type = EarsFrame::Type::kFailure, .payload = line});
  } else {
    const std::string report = "predgen-ears: " + line + "\n";
    static_cast<void>(::write(errors_, report.data(), report.size()) < 0);
  }
  ::_exit(exit_code);
}

void FailureReport::on_exit() {
  std::string part;
  {
    const Lock lock(mutex_);
    part = part_;
  }
  if (part.empty()) return;  // nothing was begun: --help
  const std::string reason = last_line();
  fail(part + " made sherpa-onnx give up" + (reason.empty() ? "" : ": " + reason), 2);
}

std::string FailureReport::last_line() const {
  std::string text(4096, '\0');
  const off_t size = ::lseek(log_, 0, SEEK_END);
  const off_t begin = size > static_cast<off_t>(text.size()) ? size - std::ssize(text) : 0;
  const ssize_t count = ::pread(log_, text.data(), text.size(), begin);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  const std::string_view lines = trimmed(text);
  std::string_view last = lines.substr(lines.rfind('\n') + 1);
  if (last.starts_with('/'))
    last.remove_prefix(std::min(last.size(), last.find(' ') + 1));  // its source
  return std::string(last);
}

}  // namespace predgen::ears
