#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// Hits of requests and of bytes, from the hits of accesses.
namespace mcsim {

// The requests that accesses belong to, and optionally their bytes: the columns of Accesses.
struct RequestColumns {
  std::span<const std::uint64_t> begin = {};  // first access of each, and the number of accesses
  std::span<const std::uint32_t> bytes = {};
  std::span<const std::uint32_t> head = {};
  std::uint32_t block_bytes = 0;

  std::size_t size() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::size_t blocks_of(std::size_t request) const { return begin[request + 1] - begin[request]; }
  // The bytes of one block of a request.
  Count bytes_of(std::size_t request, std::size_t block) const {
    return mcsim::bytes_in_block({head[request], bytes[request]}, blocks_of(request), block,
                                 block_bytes);
  }
};

// Fails unless the requests divide `accesses` accesses, and their columns are equally long.
absl::Status check_requests(const RequestColumns& requests, std::size_t accesses);

struct RequestHits {
  Count requests = 0;  // with accesses
  Count hits = 0;      // of which all accesses hit
  Count bytes = 0;
  Count byte_hits = 0;  // in blocks that hit
  friend bool operator==(const RequestHits&, const RequestHits&) = default;
};

// Counts requests from the hits of consecutive accesses, given in pieces.
class RequestCounter {
 public:
  // The accesses before `begin` are not given; requests that begin before it are not counted.
  RequestCounter(const RequestColumns& requests, std::size_t begin);

  bool counts() const { return requests_.size() > 0; }
  // `hits`: a byte for each of the next accesses.
  void add(std::span<const std::uint8_t> hits);
  const RequestHits& hits() const { return hits_; }

 private:
  RequestColumns requests_;
  std::size_t access_;       // the next
  std::size_t request_ = 0;  // of that access
  bool all_hit_ = true;      // so far, of this request
  RequestHits hits_;
};

}  // namespace mcsim
