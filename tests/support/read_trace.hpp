#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "core/trace/formats/all.hpp"
#include "core/trace/formats/open_trace.hpp"
#include "tests/support/own_file.hpp"

namespace mcsim::testing {

// Everything that a reader returns.
struct TraceRead {
  absl::Status status;
  Requests requests;
  std::vector<std::string> vms;
  std::vector<std::string> keys;  // if they are text
  TimeBase time_base = TimeBase::kClock;
  TraceKind kind = TraceKind::kBlocks;
  bool has_lengths = true;
  bool has_text_keys = false;
  RowCounts rows;
  bool unsorted = false;
  std::vector<std::string> notes;
};

struct TraceReadOptions {
  OnBadLine on_bad_line = OnBadLine::kError;
  OnUnsorted on_unsorted = OnUnsorted::kError;
};

// Reads `bytes` as the file web.csv.
inline TraceRead read_trace(const std::string& format, const std::string& bytes,
                            const ParamMap& params = {}, TraceReadOptions options = {}) {
  TraceRead result;
  auto made = formats().make(format, params,
                             ReaderContext{.source = *open_bytes(bytes, "web.csv"),
                                           .name = "web.csv",
                                           .vm_name = "web",
                                           .on_bad_line = options.on_bad_line,
                                           .on_unsorted = options.on_unsorted});
  if (!made.ok()) {
    result.status = made.status();
    return result;
  }
  RequestReader& reader = **made;
  Requests chunk;
  do {
    result.status = reader.next(chunk);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      result.requests.push(chunk.time[i], chunk.vm[i], static_cast<Op>(chunk.op[i]),
                           chunk.offset[i], chunk.length[i], chunk.response[i],
                           chunk.of_class.empty() ? std::optional<std::uint8_t>()
                                                  : std::optional(chunk.of_class[i]));
    }
  } while (result.status.ok() && chunk.size() > 0);
  result.vms.assign(reader.vms().begin(), reader.vms().end());
  result.keys.assign(reader.keys().keys().begin(), reader.keys().keys().end());
  result.notes = reader.notes();
  result.time_base = reader.time_base();
  result.kind = reader.kind();
  result.has_lengths = reader.has_lengths();
  result.has_text_keys = reader.has_text_keys();
  result.rows = reader.rows();
  result.unsorted = reader.unsorted();
  return result;
}

// Reads bytes without any fault.
inline TraceRead read_good_trace(const std::string& format, const std::string& bytes,
                                 const ParamMap& params = {}, TraceReadOptions options = {}) {
  TraceRead got = read_trace(format, bytes, params, options);
  EXPECT_TRUE(got.status.ok()) << got.status;
  return got;
}

// Returns the message of the error that the bytes give.
inline std::string complaint_about(const std::string& format, const std::string& bytes,
                                   const ParamMap& params = {}) {
  return message_of(read_trace(format, bytes, params).status);
}

// Returns the format of a file with that content, or the error, in which F is the file.
inline std::string detected_format(const std::string& content) {
  const OwnFile own("detected");
  const std::string& path = own.path();
  std::ofstream(path, std::ios::binary) << content;
  const auto format = detect_format(path);
  std::string text = format.ok() ? format->name : message_of(format.status());
  if (const auto at = text.find(path); at != std::string::npos) text.replace(at, path.size(), "F");
  return text;
}

}  // namespace mcsim::testing
