#pragma once

#include <sys/types.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "hear/ears_frames.h"
#include "hear/recogniser.h"

namespace predgen {

/// Is told what predgen-ears reports about its streams. Called by a thread of EarsProcess; must not
/// throw.
class EarsListener {
 public:
  virtual ~EarsListener() = default;

  virtual void on_heard(uint32_t stream, const RecognisedSegment& segment) = 0;
  /// Everything in the stream was told.
  virtual void on_done(uint32_t stream) = 0;
  /// The program has ended, and with it all streams up to the number `last`; later ones are new.
  /// `why` continues "the recogniser". `is_starting`: new streams are heard as soon as it has
  /// started again.
  virtual void on_lost(const std::string& why, bool is_starting, uint32_t last) = 0;
  /// It has started again.
  virtual void on_started() = 0;
};

/// Which listener has which stream. Thread-safe.
class EarsStreams {
 public:
  /// The listener is borrowed.
  void add(EarsListener& listener);
  /// The listener is not called any more once this has returned. Returns the streams that it had.
  std::vector<uint32_t> remove(EarsListener& listener);

  /// The number of a new stream; numbers increase.
  uint32_t open(EarsListener& listener);
  void close(uint32_t stream);
  bool is_open(uint32_t stream);
  bool is_empty();

  /// Counts sound that waits in a stream. False: it would have more than `most` samples, and these
  /// do not count. Nothing counts in a stream that is not open.
  bool add_waiting(uint32_t stream, size_t num_samples, size_t most);
  void remove_waiting(uint32_t stream, size_t num_samples);

  // News of streams that are not open is dropped.
  void tell_heard(uint32_t stream, const RecognisedSegment& segment);
  void tell_done(uint32_t stream);
  /// To all listeners; no stream that was opened before is open any more.
  void tell_lost(const std::string& why, bool is_starting);
  void tell_started();

 private:
  struct Stream {
    EarsListener* listener;
    size_t num_waiting = 0;  // samples
  };

  EarsListener* listener_of(uint32_t stream);
  std::set<EarsListener*> listeners();

  Mutex telling_;  // guards calls of listeners: none is running once remove() has returned
  Mutex mutex_;
  std::set<EarsListener*> listeners_ GUARDED_BY(mutex_);
  std::map<uint32_t, Stream> streams_ GUARDED_BY(mutex_);
  uint32_t newest_ GUARDED_BY(mutex_) = 0;
};

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
