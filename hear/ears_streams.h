#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/mutex.h"
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

}  // namespace predgen
