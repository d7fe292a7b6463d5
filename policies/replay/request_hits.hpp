#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// Hits of requests and bytes, computed from the hits of accesses.
namespace mcsim {

// The requests of the accesses and optionally their bytes: columns of Accesses.
struct RequestColumns {
  std::span<const std::uint64_t> begin = {};  // first access of each, and the number of accesses
  std::span<const std::uint32_t> bytes = {};
  std::span<const std::uint32_t> head = {};
  std::uint32_t block_bytes = 0;

  std::size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::size_t blocks_of(std::size_t request) const { return begin[request + 1] - begin[request]; }
  // Return the bytes of one block of a request.
  Count bytes_of(std::size_t request, std::size_t block) const {
    return mcsim::bytes_in_block({head[request], bytes[request]}, blocks_of(request), block,
                                 block_bytes);
  }
};

// Check that the requests cover exactly `accesses` accesses, and that their columns have equal
// lengths.
absl::Status check_requests(const RequestColumns& requests, std::size_t accesses);

struct RequestHits {
  Count requests = 0;  // with accesses
  Count hits = 0;      // requests with only hits
  Count bytes = 0;
  Count byte_hits = 0;  // in blocks that hit
  friend bool operator==(const RequestHits&, const RequestHits&) = default;
};

// Counts requests from the hits of consecutive accesses, which arrive in pieces.
class RequestCounter {
 public:
  // The first access is number `begin`; requests that start before it are not counted.
  RequestCounter(const RequestColumns& requests, std::size_t begin);

  bool counts() const { return requests_.size() > 0; }
  // Add the next accesses; `hits` has one byte per access.
  void add(std::span<const std::uint8_t> hits);
  const RequestHits& hits() const { return hits_; }

 private:
  RequestColumns requests_;
  std::size_t access_;       // the next access
  std::size_t request_ = 0;  // of that access
  bool all_hit_ = true;      // whether all accesses of the request so far hit
  RequestHits hits_;
};

}  // namespace mcsim
