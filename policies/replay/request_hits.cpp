#include "policies/replay/request_hits.hpp"

#include <algorithm>

namespace mcsim {

absl::Status check_requests(const RequestColumns& requests, std::size_t accesses) {
  const std::span<const std::uint64_t> begin = requests.begin;
  if (begin.empty()) return absl::OkStatus();
  if (begin.front() != 0 || begin.back() != accesses || !std::ranges::is_sorted(begin)) {
    return invalid_argument("requests: they must divide {} accesses, in their order", accesses);
  }
  for (const std::size_t size : {requests.bytes.size(), requests.head.size()}) {
    if (size == requests.bytes.size() && (size == 0 || size == requests.size())) continue;
    return invalid_argument("requests: {} bytes and {} offsets of {} requests",
                            requests.bytes.size(), requests.head.size(), requests.size());
  }
  return absl::OkStatus();
}

RequestCounter::RequestCounter(const RequestColumns& requests, std::size_t begin)
    : requests_(requests), access_(begin) {
  if (!counts()) return;
  const auto first = std::ranges::lower_bound(requests.begin, begin);
  request_ = static_cast<std::size_t>(first - requests.begin.begin());
}

void RequestCounter::add(std::span<const std::uint8_t> hits) {
  for (const std::uint8_t hit : hits) {
    const std::size_t access = access_++;
    if (access < requests_.begin[request_]) continue;  // its request starts in the warm-up
    while (requests_.begin[request_ + 1] <= access) ++request_;
    all_hit_ = all_hit_ && hit != 0;
    if (!requests_.bytes.empty()) {
      const Count bytes = requests_.bytes_of(request_, access - requests_.begin[request_]);
      hits_.bytes += bytes;
      hits_.byte_hits += hit != 0 ? bytes : 0;
    }
    if (access + 1 < requests_.begin[request_ + 1]) continue;
    ++hits_.requests;
    hits_.hits += all_hit_ ? 1 : 0;
    all_hit_ = true;
  }
}

}  // namespace mcsim
