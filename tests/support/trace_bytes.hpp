#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

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

inline std::string twr_ns_record(std::uint32_t time, std::uint64_t id, std::uint32_t key_bytes,
                                 std::uint32_t value_bytes, std::uint32_t op) {
  return twr_record(time, id, key_bytes, value_bytes, op) + TraceBytes().add(5, 2).bytes();
}

// A record of libCacheSim's trace type `format`, by the structs of its customizedReader. Fields
// that are not requests' are 5.
struct LibCacheSimFields {
  std::uint64_t time = 0;
  std::uint64_t id = 0;
  std::uint64_t size = 4096;
  std::uint64_t op = 1;
  std::int64_t next = -1;
};

inline std::string libcachesim_record(std::string_view format, const LibCacheSimFields& of) {
  const auto next = static_cast<std::uint64_t>(of.next);
  TraceBytes record;
  if (!format.ends_with("wiki16u")) record.add(of.time, 4);
  if (format == "standard-iii") return record.add(of.id, 4).add(of.size, 4).bytes();
  record.add(of.id, 8);
  if (format == "oracle-sys-twr-ns") {
    return record.add(20, 2)
        .add(of.size - 20, 4)
        .add(of.op, 2)
        .add(5, 2)
        .add(5, 4)
        .add(next, 8)
        .bytes();
  }
  const bool is_wide = format == "standard-iqq" || format.ends_with("cf1");
  record.add(of.size, is_wide ? 8 : 4);
  if (format == "standard-iqibh") return record.add(of.op, 1).add(5, 2).bytes();
  if (format == "oracle-general-op-ns") return record.add(of.op, 1).add(5, 2).add(next, 8).bytes();
  if (format.starts_with("wiki")) return record.add(5, 2).bytes();
  if (format.starts_with("oracle-wiki")) return record.add(5, 2).add(next, 8).bytes();
  if (format == "akamai") return record.add(5, 2).add(5, 2).add(5, 2).bytes();
  if (format == "oracle-akamai") return record.add(5, 2).add(5, 2).add(5, 2).add(next, 8).bytes();
  if (format == "oracle-sim-twr-ns") return record.add(5, 4).add(5, 2).add(next, 8).bytes();
  if (format.ends_with("cf1")) record.add(5, 4).add(5, 4).add(5, 4);
  if (format == "oracle-cf1") record.add(next, 8);
  if (format.ends_with("cf1")) record.add(5, 2).add(5, 2).add(5, 2).add(5, 1).add(5, 1).add(5, 1);
  return record.bytes();  // standard-iqi and standard-iqq end here
}

// The formats of libcachesim_record(), with the bytes of a record.
inline const std::map<std::string, std::size_t>& libcachesim_records() {
  static const std::map<std::string, std::size_t> records{
      {"standard-iqi", 16},      {"standard-iqq", 20},   {"standard-iii", 12},
      {"standard-iqibh", 19},    {"akamai", 22},         {"cf1", 41},
      {"wiki16u", 14},           {"wiki19u", 18},        {"oracle-general-op-ns", 27},
      {"oracle-sys-twr-ns", 34}, {"oracle-akamai", 30},  {"oracle-sim-twr-ns", 30},
      {"oracle-cf1", 49},        {"oracle-wiki16u", 22}, {"oracle-wiki19u", 26}};
  return records;
}

struct BlktraceFields {
  std::uint64_t time = 0;
  std::uint64_t sector = 0;
  std::uint64_t bytes = 4096;
  std::uint64_t event = 1;            // queued
  std::uint64_t categories = 1 | 16;  // a read, of the queue
  std::uint64_t device = 8 << 20;
  std::string data = "";
  std::uint64_t magic = 0x65617407;
  bool is_big = false;
};

// An event of blktrace, by struct blk_io_trace of version 7.
inline std::string blktrace_event(const BlktraceFields& of) {
  TraceBytes event;
  const auto add = [&](std::uint64_t value, unsigned bytes) {
    of.is_big ? event.add_big(value, bytes) : event.add(value, bytes);
  };
  add(of.magic, 4), add(1, 4), add(of.time, 8), add(of.sector, 8), add(of.bytes, 4);
  add(of.categories << 16 | of.event, 4), add(661, 4), add(of.device, 4), add(0, 4), add(0, 2);
  add(of.data.size(), 2);
  return event.bytes() + of.data;
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
