#include "evaluate/judge/http_post.h"

#include <curl/curl.h>

#include <memory>

#include "core/error.h"
#include "core/stop.h"

namespace predgen::evaluate {
namespace {

constexpr size_t kMaxReplyBytes = size_t{16} << 20;

struct FreeCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

size_t append(const char* data, size_t size, size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + size * count > kMaxReplyBytes) return 0;  // ends the transfer
  text.append(data, size * count);
  return size * count;
}

int is_stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested();
}

class Connection {
 public:
  Connection(const std::string& url, const std::string& key, double timeout_seconds,
             std::stop_token stop)
      : stop_(std::move(stop)) {
    static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
    curl_.reset(curl_easy_init());
    PREDGEN_CHECK(initialised == CURLE_OK && curl_, "libcurl cannot start");
    add_header("Content-Type: application/json");
    if (!key.empty()) add_header("Authorization: Bearer " + key);
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_seconds * 1e3));
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, is_stopped);
    set(CURLOPT_XFERINFODATA, &stop_);
  }

  /// Why nothing listens; empty: something does.
  std::string probe() {
    set(CURLOPT_CONNECT_ONLY, 1L);
    const CURLcode result = perform();
    set(CURLOPT_CONNECT_ONLY, 0L);
    return result == CURLE_OK ? "" : curl_easy_strerror(result);
  }

  PostReply post(const std::string& json) {
    PostReply reply;
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_POSTFIELDS, json.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    set(CURLOPT_WRITEFUNCTION, append);
    set(CURLOPT_WRITEDATA, &reply.body);
    if (const CURLcode result = perform(); result != CURLE_OK) {
      reply.error = curl_easy_strerror(result);
      return reply;
    }
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &reply.status);
    curl_off_t seconds = 0;  // a date in the header is converted to seconds
    curl_easy_getinfo(curl_.get(), CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0) reply.retry_after = static_cast<double>(seconds);
    return reply;
  }

 private:
  template <typename T>
  void set(CURLoption option, T value) {
    const CURLcode result = curl_easy_setopt(curl_.get(), option, value);
    PREDGEN_CHECK(result == CURLE_OK, "libcurl: {}", curl_easy_strerror(result));
  }
  void add_header(const std::string& line) {
    headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
    PREDGEN_CHECK(headers_, "libcurl has no memory for a header");
  }
  CURLcode perform() {
    const CURLcode result = curl_easy_perform(curl_.get());
    throw_if_stopped(stop_);
    return result;
  }

  const std::stop_token stop_;
  std::unique_ptr<curl_slist, FreeCurl> headers_;
  std::unique_ptr<CURL, FreeCurl> curl_;
};

}  // namespace

HttpPost connect_http(const std::string& url, const std::string& key, double timeout_seconds,
                      const std::stop_token& stop) {
  const auto connection = std::make_shared<Connection>(url, key, timeout_seconds, stop);
  if (const std::string why = connection->probe(); !why.empty()) {
    throw UserError("{} cannot be reached: {}; check judge.endpoint", url, why);
  }
  return [connection](const std::string& json) { return connection->post(json); };
}

}  // namespace predgen::evaluate
