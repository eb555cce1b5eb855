#pragma once

#include <sys/types.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "hear/ears_frames.h"
#include "hear/ears_streams.h"

namespace predgen {

/// Limits on the time and memory that the program predgen-ears may take.
struct EarsLimits {
  double load_seconds = 60;     // until it has read its models
  double ping_seconds = 1;      // until it is asked again whether it is alive
  double answer_seconds = 10;   // until that is answered: longer than any decode takes
  double waiting_seconds = 30;  // of one stream's sound that it has not taken yet
  double again_seconds = 1;     // until it is restarted, if it has ended twice in a short time
};

/// A recogniser on this machine: the program predgen-ears and its models.
struct EarsOptions {
  std::filesystem::path recogniser{};  // folder: Whisper's, Moonshine's or a streaming transducer's
  std::filesystem::path fast_recogniser{};  // folder: Moonshine's, beside Whisper; may be empty
  std::filesystem::path voice_activity{};   // Silero's .onnx file, or the folder with it
  std::filesystem::path end_of_turn{};      // smart-turn's; empty: no turn end is judged by sound
  std::string language = "en";              // a code that Whisper has; a transducer has its own
  int num_threads = 1;                      // of one decode: a second one gains little
  std::filesystem::path program{};          // empty: predgen-ears beside this program
  EarsLimits limits{};
};

/// The program that `options` name. UserError if it does not exist.
std::filesystem::path ears_program(const EarsOptions& options);
/// The program's command-line arguments.
std::vector<std::string> ears_arguments(const EarsOptions& options);

/// The program predgen-ears, one for all conversations: restarted when it has ended or does not
/// answer. Only the constructor blocks. Thread-safe.
class EarsProcess {
 public:
  /// Returns when the program has loaded its models. UserError with its message if it cannot.
  explicit EarsProcess(const EarsOptions& options);
  ~EarsProcess();  // kills it; listeners are not called any more

  /// The listener is borrowed, until remove() has returned.
  void add(EarsListener& listener) { streams_.add(listener); }
  void remove(EarsListener& listener);

  /// A stream for this listener.
  uint32_t open(EarsListener& listener) { return streams_.open(listener); }
  /// False: too much sound of this stream is queued already; this was not taken. Sound of a lost
  /// stream is not sent.
  bool send(uint32_t stream, std::span<const float> samples);
  void finish(uint32_t stream) { post({.type = EarsFrame::Type::kEnd, .stream = stream}); }
  /// The listener is told nothing more about the stream.
  void drop(uint32_t stream);

  pid_t pid() const { return pid_; }  // -1: not running

 private:
  struct Running;

  void post(EarsFrame frame);
  // All of these run in the thread.
  void run();
  void start();
  void send_frame(EarsFrame frame);
  void write();
  void read();
  void take(const EarsFrame& frame);
  void ask();
  void expect_within(double seconds, const std::string& failure);
  void lose(const std::string& why);
  void start_again();
  void forget(const EarsFrame& frame);
  /// A completion handler that acts only if its process is still the running one.
  template <class Then>
  auto of_process(Then then);

  const EarsOptions options_;
  const std::filesystem::path program_;
  std::atomic<pid_t> pid_ = -1;

  EarsStreams streams_;

  boost::asio::io_context context_;  // without a hint of one thread: it reorders posts
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_{context_};  // of what is expected
  boost::asio::steady_timer pause_{context_};  // before it is restarted
  std::shared_ptr<Running> running_;           // null: not running
  std::deque<EarsFrame> outbox_;
  std::promise<std::string> started_;  // the first start; not empty: why it failed
  bool is_first_ = true;
  int num_failures_ = 0;  // soon after a start, in a row
  std::jthread thread_;   // last: it uses all of them
};

}  // namespace predgen
