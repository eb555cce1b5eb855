#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "runtime/listen/recogniser.h"

namespace predgen {

/// Who is told what predgen-ears says of its streams. Called by a thread of EarsProcess; must not
/// throw.
class EarsListener {
 public:
  virtual ~EarsListener() = default;

  virtual void on_heard(uint32_t stream, const RecognisedSegment& segment) = 0;
  /// All of it was told.
  virtual void on_done(uint32_t stream) = 0;
  /// The program has ended, and all streams with it. `why` goes on from "the recogniser".
  /// `is_starting`: new streams are heard as soon as it has started again.
  virtual void on_lost(const std::string& why, bool is_starting) = 0;
  /// It has started again.
  virtual void on_started() = 0;
};

/// Which stream is whose. Thread-safe.
class EarsStreams {
 public:
  /// The listener is borrowed.
  void add(EarsListener& listener);
  /// It is not called any more when this has returned. Returns the streams that it had.
  std::vector<uint32_t> remove(EarsListener& listener);

  /// The number of a new one; they rise.
  uint32_t open(EarsListener& listener);
  void close(uint32_t stream);
  bool is_open(uint32_t stream);
  bool is_empty();

  // Those of streams that are not open are told to nobody.
  void tell_heard(uint32_t stream, const RecognisedSegment& segment);
  void tell_done(uint32_t stream);
  /// To all listeners; no stream is open any more.
  void tell_lost(const std::string& why, bool is_starting);
  void tell_started();

 private:
  EarsListener* listener_of(uint32_t stream);
  std::set<EarsListener*> listeners();

  Mutex telling_;  // guards calls of listeners: none goes on when remove() has returned
  Mutex mutex_;
  std::set<EarsListener*> listeners_ GUARDED_BY(mutex_);
  std::map<uint32_t, EarsListener*> streams_ GUARDED_BY(mutex_);
  uint32_t newest_ GUARDED_BY(mutex_) = 0;
};

}  // namespace predgen
