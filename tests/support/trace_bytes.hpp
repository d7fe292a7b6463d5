#pragma once

#include <cstdint>
#include <string>

namespace mcsim::testing {

// Consecutive little-endian integers of 1 to 8 bytes.
class TraceBytes {
 public:
  TraceBytes& add(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  TraceBytes& add_big(std::uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  TraceBytes& fill(std::size_t size) {
    bytes_.resize(size);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

inline std::string oracle_record(std::uint32_t time, std::uint64_t id, std::uint32_t size,
                                 std::int64_t next) {
  return TraceBytes()
      .add(time, 4)
      .add(id, 8)
      .add(size, 4)
      .add(static_cast<std::uint64_t>(next), 8)
      .bytes();
}

inline std::string twr_record(std::uint32_t time, std::uint64_t id, std::uint32_t key_bytes,
                              std::uint32_t value_bytes, std::uint32_t op) {
  return TraceBytes()
      .add(time, 4)
      .add(id, 8)
      .add(key_bytes << 22 | value_bytes, 4)
      .add(op << 24 | 60, 4)
      .bytes();
}

struct VscsiFields {
  std::uint64_t command = 0x28;
  std::uint64_t bytes = 4096;
  std::uint64_t sector = 0;
  std::uint64_t time = 0;
  std::uint64_t version = 1;
};

inline std::string vscsi_record(const VscsiFields& of) {
  if (of.version == 1) {
    return TraceBytes()
        .add(7, 4)
        .add(of.bytes, 4)
        .add(1, 4)
        .add(of.command, 2)
        .add(0x100, 2)
        .add(of.sector, 8)
        .add(of.time, 8)
        .bytes();
  }
  return TraceBytes()
      .add(of.command, 2)
      .add(of.version << 8, 2)
      .add(7, 4)
      .add(of.bytes, 4)
      .add(1, 4)
      .add(of.sector, 8)
      .add(of.time, 8)
      .add(50, 8)
      .bytes();
}

inline constexpr std::uint64_t kLcsMagic = 0x123456789abcdef0;

// The header of libCacheSim's trace of that version.
inline std::string lcs_header(std::uint64_t version, std::uint64_t requests) {
  TraceBytes header;
  header.add(kLcsMagic, 8).add(version, 8).add(1, 8).add(requests, 8).fill(8184);
  return header.add(kLcsMagic, 8).bytes();
}

// The header of 2024, which describes fields: at positions from 1 the id, size, time, last and
// next access, and operation.
inline std::string lcs_described_header(const std::string& types, const std::string& positions,
                                        std::uint64_t record_bytes, std::uint64_t requests) {
  TraceBytes header;
  header.add(kLcsMagic, 8);
  for (const char type : types) header.add(static_cast<unsigned char>(type), 1);
  header.fill(248);
  for (const char position : positions) header.add(static_cast<std::uint64_t>(position - '0'), 1);
  header.fill(488).add(requests, 8).fill(1000);
  header.add(types.size() - 1, 4).add(record_bytes, 4).add(1, 8).add(kLcsMagic, 8);
  return header.bytes();
}

struct LcsFields {
  std::uint64_t time = 0;
  std::uint64_t id = 0;
  std::int64_t size = 4096;
  std::uint64_t op = 1;
  std::int64_t next = -1;
};

inline std::string lcs_record(std::uint64_t version, const LcsFields& of) {
  TraceBytes record;
  record.add(of.time, 4)
      .add(of.id, 8)
      .add(static_cast<std::uint64_t>(of.size), version < 3 ? 4 : 8);
  if (version >= 2) record.add(of.op, 1).add(5, 3);
  if (version >= 3) record.add(60, 4);
  record.add(static_cast<std::uint64_t>(of.next), 8);
  for (std::uint64_t i = 0; version > 3 && i < 1ULL << (version - 4); ++i) record.add(i, 4);
  return record.bytes();
}

}  // namespace mcsim::testing
