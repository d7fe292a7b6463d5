#pragma once

#include <memory>
#include <string>

#include "core/base/status.hpp"
#include "core/trace/formats/open_trace.hpp"
#include "core/trace/reading/decompress.hpp"

namespace mcsim {

// A trace read from a pipe. The reader returns a chunk when it is full, or when it has requests and
// no bytes are ready. Ids of text keys are hashes, so that memory does not grow with the number of
// objects; it grows with the number of VM names, and of open files (strace).
class TracePipe {
 public:
  // Takes ownership of the descriptor. `name` begins every message and names a VM without a name.
  static absl::StatusOr<TracePipe> open(int descriptor, const std::string& name);

  // Detects the format from a head as long as for files. A shorter head is enough if it fits only
  // one format and no more bytes come for a second.
  absl::StatusOr<DetectedFormat> detect_format();

  // Returns the reader of the given format. From then on both functions fail, even if this one did.
  absl::StatusOr<std::unique_ptr<RequestReader>> read(const ReadOptions& options);

 private:
  TracePipe(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  absl::Status check_open() const;

  std::unique_ptr<ByteSource> source_;  // null after read()
  std::string name_;
  Head head_;
};

}  // namespace mcsim
