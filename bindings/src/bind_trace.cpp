#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/trace/formats/all.hpp"
#include "core/trace/formats/open_trace.hpp"
#include "core/trace/formats/pipe.hpp"
#include "core/trace/reading/table_rows.hpp"
#include "core/trace/request_counts.hpp"
#include "core/trace/summary.hpp"

namespace mcsim::python {
namespace {

// Return the columns of a chunk in the order of the store; classes are included if present.
py::tuple to_columns(Requests&& chunk) {
  const py::tuple columns =
      py::make_tuple(to_array(std::move(chunk.time)), to_array(std::move(chunk.vm)),
                     to_array(std::move(chunk.op)), to_array(std::move(chunk.offset)),
                     to_array(std::move(chunk.length)), to_array(std::move(chunk.response)));
  if (chunk.of_class.empty()) return columns;
  return columns + py::make_tuple(to_array(std::move(chunk.of_class)));
}

std::optional<py::tuple> next_chunk(RequestReader& reader) {
  const ExclusiveUse use(reader);
  Requests chunk;
  raise_if_error(without_gil([&] { return reader.next(chunk); }));
  if (chunk.size() == 0) return std::nullopt;
  return to_columns(std::move(chunk));
}

// Return all keys of a dictionary in Arrow's string layout: offsets and concatenated bytes.
py::tuple to_texts(const KeyDictionary& keys) {
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(keys.size() + 1);
  for (const std::string& key : keys.keys()) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(key.size()));
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(offsets.back()));
  for (const std::string& key : keys.keys()) bytes.insert(bytes.end(), key.begin(), key.end());
  return py::make_tuple(to_array(std::move(offsets)), to_array(std::move(bytes)));
}

// Replace the requests of a chunk by the next ones, in the same memory.
std::size_t read_into(RequestReader& reader, Requests& chunk) {
  const ExclusiveUse use(reader);
  const ExclusiveUse use_of_chunk(chunk);
  raise_if_error(without_gil([&] { return reader.next(chunk); }));
  return chunk.size();
}

void bind_chunks(py::module_& m) {
  py::class_<Requests>(m, "Chunk", "Requests of a file that stay in C++." MCSIM_CALLS_WAIT)
      .def(py::init());
  using C = RequestCounts;
  def_exclusive_fields(
      py::class_<C>(m, "RequestCounts",
                    "Counts of requests, and signs of wrong times and lengths." MCSIM_CALLS_WAIT),
      std::tuple{MCSIM_FIELDS(C, rows, reads, discards, blocks, read_blocks, first_time, last_time,
                              backwards, gap, gap_at, sized, small)})
      .def(py::init())
      .def(
          "add",
          [](C& counts, const Requests& chunk, const std::string& kind) {
            const ExclusiveUse use(counts);
            const ExclusiveUse use_of_chunk(chunk);
            const auto of_kind = choice_or_raise<TraceKind>("kind", kind);
            without_gil([&] { counts.add(chunk.view(), of_kind); });
          },
          py::arg("chunk"), py::arg("kind"));
}

std::unique_ptr<RequestReader> open_reader(const std::string& path, const std::string& format,
                                           const ParamMap& params, bool skip_bad_lines,
                                           bool keep_unsorted) {
  ReadOptions options{.format = format,
                      .params = params,
                      .on_bad_line = skip_bad_lines ? OnBadLine::kSkip : OnBadLine::kError,
                      .on_unsorted = keep_unsorted ? OnUnsorted::kKeep : OnUnsorted::kError};
  return value_or_raise(open_trace(path, options));
}

std::unique_ptr<RequestReader> read_pipe(TracePipe& pipe, const std::string& format,
                                         const ParamMap& params, bool skip_bad_lines) {
  const ExclusiveUse use(pipe);
  const ReadOptions options{.format = format,
                            .params = params,
                            .on_bad_line = skip_bad_lines ? OnBadLine::kSkip : OnBadLine::kError,
                            .on_unsorted = OnUnsorted::kKeep};
  return value_or_raise(without_gil([&] { return pipe.read(options); }));
}

void bind_pipe(py::module_& m) {
  py::class_<TracePipe>(m, "Pipe", "A trace read from a pipe." MCSIM_CALLS_WAIT)
      .def(py::init([](int descriptor, const std::string& name) {
             return value_or_raise(without_gil([&] { return TracePipe::open(descriptor, name); }));
           }),
           py::arg("descriptor"), py::arg("name"))
      .def("detect_format",
           [](TracePipe& pipe) {
             const ExclusiveUse use(pipe);
             return value_or_raise(without_gil([&] { return pipe.detect_format(); }));
           })
      .def("read", &read_pipe, py::arg("format"), py::arg("params"), py::arg("skip_bad_lines"));
}

void bind_detection(py::module_& m) {
  m.def(
      "formats", [] { return describe_registry(formats()); },
      "The trace formats, as dictionaries: name, summary, reference, params.");
  using D = DetectedFormat;
  def_fields(py::class_<D>(m, "DetectedFormat", "The format of a file." MCSIM_CONSTANT),
             std::tuple{MCSIM_FIELDS(D, name, note, needs_order)});
  m.def(
      "detect_format", [](const std::string& path) { return value_or_raise(detect_format(path)); },
      py::arg("path"), "The format of a file by its content.");
  m.def(
      "vm_name_of", [](const std::string& path) { return vm_name_of(path); }, py::arg("path"),
      "The VM of a file without VM names: the file's name up to the first dot.");
}

void bind_reader(py::module_& m) {
  using C = RowCounts;
  def_fields(py::class_<C>(m, "RowCounts", "Rows of a file that are not requests." MCSIM_CONSTANT),
             std::tuple{MCSIM_FIELDS(C, filtered, skipped, flushes, repeated, complaints)});

  using R = RequestReader;
  def_exclusive_fields(
      py::class_<R>(m, "Reader", "Requests of a trace file, chunk by chunk." MCSIM_CALLS_WAIT),
      std::tuple{MCSIM_FIELDS(R, has_lengths, names_vms, unsorted, consumed, rows, notes)})
      .def(py::init(&open_reader), py::arg("path"), py::arg("format"), py::arg("params"),
           py::arg("skip_bad_lines"), py::arg("keep_unsorted"))
      .def("next", &next_chunk, "The next columns, each owning its memory; None at the end.")
      .def("read_into", &read_into, py::arg("chunk"), "The next requests; returns their number.")
      .def_property_readonly("vms",
                             [](const R& r) {
                               const ExclusiveUse use(r);
                               return std::vector<std::string>(r.vms().begin(), r.vms().end());
                             })
      .def_property_readonly("time_base",
                             [](const R& r) {
                               const ExclusiveUse use(r);
                               return name_of(r.time_base());
                             })
      .def_property_readonly("kind",
                             [](const R& r) {
                               const ExclusiveUse use(r);
                               return name_of(r.kind());
                             })
      .def_property_readonly(
          "keys",
          [](const R& r) -> std::optional<py::tuple> {
            const ExclusiveUse use(r);
            if (!r.has_text_keys()) return std::nullopt;
            return to_texts(r.keys());
          },
          "Offsets and bytes of the keys by their ids; None if keys are numbers.");
}

// Convert a column of a table: its values, the bytes of texts, and the validity of the values.
// `owners` keeps the arrays, which nothing changes.
ArrowColumn table_column_of(const py::handle& given, std::vector<py::object>& owners) {
  const auto [values, bytes, valid] =
      given.cast<std::tuple<py::array, std::optional<ConstantColumn<std::uint8_t>>,
                            std::optional<ConstantColumn<std::uint8_t>>>>();
  const auto own = [&]<class T>(const ConstantColumn<T>& column) {
    owners.push_back(static_cast<const Column<T>&>(column));
    return span_of(column);
  };
  ArrowColumn column;
  if (valid) column.is_valid = own(*valid);
  if (bytes) {
    column.values =
        TextColumn{own(values.cast<ConstantColumn<std::int64_t>>()), std::as_bytes(own(*bytes))};
  } else if (py::isinstance<Column<std::int64_t>>(values)) {
    column.values = own(values.cast<ConstantColumn<std::int64_t>>());
  } else if (py::isinstance<Column<std::uint64_t>>(values)) {
    column.values = own(values.cast<ConstantColumn<std::uint64_t>>());
  } else {
    column.values = own(values.cast<ConstantColumn<double>>());
  }
  return column;
}

// Unused columns are None.
py::tuple add_rows(TableRows& table, const py::list& given, std::size_t rows) {
  const ExclusiveUse use(static_cast<const RequestReader&>(table));
  std::vector<ArrowColumn> columns;
  std::vector<py::object> owners;
  for (const py::handle& column : given) {
    columns.push_back(column.is_none() ? ArrowColumn{} : table_column_of(column, owners));
  }
  Requests chunk;
  raise_if_error(without_gil([&] { return table.add(columns, rows, chunk); }));
  return to_columns(std::move(chunk));
}

std::unique_ptr<TableRows> make_table_rows(const std::string& name,
                                           const std::vector<std::string>& names,
                                           const ParamMap& params, const std::string& vm_name,
                                           bool skip_bad_rows, bool keep_unsorted) {
  ColumnMapping mapping = value_or_raise(parse_params<ColumnMapping>(params));
  auto table = std::make_unique<TableRows>(
      std::move(mapping),
      ReaderContext{.source = nullptr,
                    .name = name,
                    .vm_name = vm_name,
                    .on_bad_line = skip_bad_rows ? OnBadLine::kSkip : OnBadLine::kError,
                    .on_unsorted = keep_unsorted ? OnUnsorted::kKeep : OnUnsorted::kError});
  const absl::Status bound = table->bind(names);
  if (!bound.ok()) {
    throw Error{absl::Status(bound.code(), name + ": " + message_of(bound))};
  }
  return table;
}

void bind_tables(py::module_& m) {
  py::class_<TableRows, RequestReader>(m, "TableRows",
                                       "Converts rows of tables to requests." MCSIM_CALLS_WAIT)
      .def(py::init(&make_table_rows), py::arg("name"), py::arg("columns"), py::arg("params"),
           py::arg("vm_name"), py::arg("skip_bad_rows"), py::arg("keep_unsorted"))
      .def("uses", &TableRows::uses, py::arg("column"))
      .def("add", &add_rows, py::arg("columns"), py::arg("rows"));
}

void add_to_summary(TraceSummary& summary, const ConstantColumn<Nanoseconds>& time,
                    const ConstantColumn<VmId>& vm, const ConstantColumn<std::uint8_t>& op,
                    const ConstantColumn<std::uint64_t>& offset,
                    const ConstantColumn<std::uint32_t>& length) {
  const ExclusiveUse use(summary);
  const RequestsView rows = requests_of(time, vm, op, offset, length);
  // Requests may have many blocks: signals are handled between pieces.
  constexpr std::size_t kPiece = std::size_t{1} << 14;
  const Tick tick = make_tick(py::none());
  for (std::size_t begin = 0; begin < rows.size(); begin += kPiece) {
    const auto part = [&](const auto& column) {
      return column.subspan(begin, std::min(kPiece, rows.size() - begin));
    };
    without_gil([&] {
      summary.add({part(rows.time),
                   part(rows.vm),
                   part(rows.op),
                   part(rows.offset),
                   part(rows.length),
                   {},
                   {}});
    });
    raise_if_error(tick(static_cast<Count>(begin)));
  }
}

using Classes = std::optional<Column<std::uint8_t>>;

// Return None, or the error in rows that mcsim did not write.
std::optional<std::string> row_error(const Column<Nanoseconds>& time, const Column<VmId>& vm,
                                     const Column<std::uint8_t>& op,
                                     const Column<std::uint64_t>& offset,
                                     const Column<std::uint32_t>& length,
                                     const Column<Nanoseconds>& response, const Classes& of_class,
                                     std::size_t vms, const std::string& kind,
                                     std::size_t first_row, std::optional<Nanoseconds> after) {
  const auto of_kind = choice_or_raise<TraceKind>("kind", kind);
  const RequestsView rows = rows_of(time, vm, op, offset, length, response, of_class);
  py::gil_scoped_release unlocked;
  const absl::Status status = check_requests(
      rows, of_kind, vms, first_row, after.value_or(std::numeric_limits<Nanoseconds>::min()));
  if (status.ok()) return std::nullopt;
  return message_of(status);
}

std::uint64_t checksum_of_columns(const Column<Nanoseconds>& time, const Column<VmId>& vm,
                                  const Column<std::uint8_t>& op,
                                  const Column<std::uint64_t>& offset,
                                  const Column<std::uint32_t>& length,
                                  const Column<Nanoseconds>& response, const Classes& of_class,
                                  std::size_t first_row) {
  const RequestsView rows = rows_of(time, vm, op, offset, length, response, of_class);
  py::gil_scoped_release unlocked;
  return checksum_of(rows, first_row);
}

void bind_checks(py::module_& m) {
  m.def("wrong_in", &row_error, "Return the error in rows from another source, or None.",
        py::arg("time").noconvert(), py::arg("vm").noconvert(), py::arg("op").noconvert(),
        py::arg("offset").noconvert(), py::arg("length").noconvert(),
        py::arg("response").noconvert(), py::arg("classes").noconvert() = py::none(), py::kw_only(),
        py::arg("vms"), py::arg("kind") = "blocks", py::arg("first_row") = 0,
        py::arg("after") = py::none());
  m.def("checksum", &checksum_of_columns, "The checksum of columns.", py::arg("time").noconvert(),
        py::arg("vm").noconvert(), py::arg("op").noconvert(), py::arg("offset").noconvert(),
        py::arg("length").noconvert(), py::arg("response").noconvert(),
        py::arg("classes").noconvert() = py::none(), py::kw_only(), py::arg("first_row"));
  m.def(
      "check_vm_name", [](const std::string& name) { raise_if_error(check_vm_name(name)); },
      "Raise ConfigError for an invalid VM name.", py::arg("name"));
}

void bind_summary(py::module_& m) {
  using Vm = VmSummary;
  def_fields(
      py::class_<Vm>(m, "VmSummary", "Counts of a VM." MCSIM_CONSTANT),
      std::tuple{MCSIM_FIELDS(
          Vm, requests, discards, read_requests, blocks, read_blocks, unique_blocks,
          unique_read_blocks, bytes, first_time, last_time, largest_request, median_request,
          write_bytes, sequential_requests, sequential_bytes, once_blocks, top_1_percent_accesses,
          top_10_percent_accesses, zipf_exponent, growth_by_requests, growth_by_time)})
      .def(py::init());
  py::class_<TraceSummary>(m, "Summary", "Counts of a trace per VM, in one pass." MCSIM_CALLS_WAIT)
      .def(py::init([](Count block_bytes, const std::string& kind, Count requests,
                       Nanoseconds first_time, Nanoseconds last_time) {
             constexpr Count kMost = std::numeric_limits<std::uint32_t>::max();
             if (block_bytes < 1 || block_bytes > kMost) {
               throw Error{out_of_range("block_bytes: {} is outside [1, {}]", block_bytes, kMost)};
             }
             return TraceSummary(
                 static_cast<std::uint32_t>(block_bytes), choice_or_raise<TraceKind>("kind", kind),
                 {.requests = requests, .first_time = first_time, .last_time = last_time});
           }),
           py::arg("block_bytes"), py::arg("kind") = "blocks", py::arg("requests") = 0,
           py::arg("first_time") = 0, py::arg("last_time") = 0)
      .def("add", &add_to_summary, py::arg("time").noconvert(), py::arg("vm").noconvert(),
           py::arg("op").noconvert(), py::arg("offset").noconvert(), py::arg("length").noconvert())
      .def("vms",
           [](const TraceSummary& summary) {
             const ExclusiveUse use(summary);
             return without_gil([&] { return summary.vms(); });
           })
      .def("total", [](const TraceSummary& summary) {
        const ExclusiveUse use(summary);
        return without_gil([&] { return summary.total(); });
      });
}

}  // namespace

void bind_trace(py::module_& m) {
  py::module_ trace = m.def_submodule("trace");
  bind_detection(trace);
  bind_chunks(trace);
  bind_reader(trace);
  bind_pipe(trace);
  bind_tables(trace);
  bind_checks(trace);
  bind_summary(trace);
}

}  // namespace mcsim::python
