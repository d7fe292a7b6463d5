#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/src/bind.hpp"
#include "bindings/src/exclusive_use.hpp"
#include "bindings/src/pybind.hpp"
#include "core/base/guarded.hpp"
#include "core/locality/distances/byte_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/estimators/registry.hpp"
#include "optimizers/hull.hpp"

namespace mcsim::python {
namespace {

// The keys of a piece; signals and progress are handled between pieces.
constexpr std::size_t kPiece = std::size_t{1} << 20;

// An estimator and the number of references that it has processed.
class StreamedEstimator {
 public:
  StreamedEstimator(const std::string& name, const ParamMap& params, std::uint64_t seed,
                    int threads)
      : estimator_(value_or_raise(
            estimator_registry().make(name, params, {.seed = seed, .threads = threads}))) {}

  // Runs without the GIL, like all functions below, and by one thread at a time. Pieces with
  // discards or requests are not cut. After an error of the estimator, this function and curve()
  // return the same error.
  void process(const References& all, const Tick& tick) {
    discards_ += all.discard_at.size();
    const bool is_whole = !all.discard_at.empty() || !all.requests.blocks.empty();
    for_each_piece(all.keys.size(), is_whole ? all.keys.size() : kPiece, tick,
                   [&](std::size_t begin, std::size_t count) {
                     return estimator_->process(is_whole ? all : all.subspan(begin, count));
                   });
  }

  // Widens 32-bit keys piece by piece, so that the whole column is not copied.
  void process(std::span<const std::uint32_t> narrow, const References& rest, const Tick& tick) {
    discards_ += rest.discard_at.size();
    const bool is_whole = !rest.discard_at.empty() || !rest.requests.blocks.empty();
    for_each_piece(narrow.size(), is_whole ? narrow.size() : kPiece, tick,
                   [&](std::size_t begin, std::size_t count) {
                     const auto piece = narrow.subspan(begin, count);
                     widened_.assign(piece.begin(), piece.end());
                     References next = rest;
                     if (!next.times.empty()) next.times = next.times.subspan(begin, count);
                     if (!next.ops.empty()) next.ops = next.ops.subspan(begin, count);
                     next.keys = widened_;
                     return estimator_->process(next);
                   });
  }

  CurveEstimate curve() {
    raise_if_error(failed_);
    CurveEstimate curve = value_or_raise(estimator_->curve());
    if (discards_ > 0 && !estimator_->removes_discards()) {
      // The band covers the curve of the stream without discards, which may be far off.
      curve.low.clear();
      curve.high.clear();
      curve.note +=
          fmt::format("{}{} discarded blocks ignored", curve.note.empty() ? "" : "; ", discards_);
    }
    return curve;
  }
  Count references() const { return references_; }
  double distinct() const { return estimator_->distinct(); }
  std::size_t bytes() const { return estimator_->bytes(); }

 private:
  template <class Process>
  void for_each_piece(std::size_t size, std::size_t most, const Tick& tick,
                      Process&& process_piece) {
    raise_if_error(failed_);
    for (std::size_t begin = 0; begin < size; begin += most) {
      const std::size_t count = std::min(most, size - begin);
      failed_ = guarded("estimator", [&] { return process_piece(begin, count); });
      raise_if_error(failed_);
      references_ += static_cast<Count>(count);
      raise_if_error(tick(static_cast<Count>(begin + count)));
    }
  }

  std::unique_ptr<Estimator> estimator_;
  std::vector<std::uint64_t> widened_;
  Count references_ = 0;
  std::size_t discards_ = 0;
  absl::Status failed_;
};

template <class T>
std::span<const T> column_for_keys(const char* name, const Column<T>& given, std::size_t keys) {
  const std::span<const T> values = span_of(given);
  if (values.size() != keys) {
    raise_if_error(invalid_argument("{}: {} of them for {} keys", name, values.size(), keys));
  }
  return values;
}

// Positions among the keys, and the keys discarded there.
using Discards = std::pair<ConstantColumn<std::uint64_t>, ConstantColumn<std::uint64_t>>;
// The block size, then for each request: blocks, offset in the first block, and bytes.
using Requests = std::tuple<std::uint32_t, ConstantColumn<std::uint32_t>,
                            ConstantColumn<std::uint32_t>, ConstantColumn<std::uint32_t>>;

void add_discards(References& references, const Discards& discards, std::size_t keys) {
  references.discard_at = span_of(discards.first);
  references.discard_keys =
      column_for_keys<std::uint64_t>("discards", discards.second, references.discard_at.size());
  if (!std::ranges::is_sorted(references.discard_at) ||
      (!references.discard_at.empty() && references.discard_at.back() > keys)) {
    raise_if_error(invalid_argument("discards: expected increasing positions up to {}", keys));
  }
}

void add_requests(References& references, const Requests& requests, std::size_t keys) {
  const std::span<const std::uint32_t> blocks = span_of(std::get<1>(requests));
  std::size_t sum = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] == 0) raise_if_error(invalid_argument("requests: request {} has no blocks", i));
    sum += blocks[i];
  }
  if (sum != keys) {
    raise_if_error(
        invalid_argument("requests: they have {} blocks, and there are {} keys", sum, keys));
  }
  references.requests = {
      .block_bytes = std::get<0>(requests),
      .blocks = blocks,
      .head = column_for_keys<std::uint32_t>("head", std::get<2>(requests), blocks.size()),
      .bytes = column_for_keys<std::uint32_t>("bytes", std::get<3>(requests), blocks.size())};
}

template <class Key>
void process(StreamedEstimator& estimator, const Column<Key>& keys,
             const std::optional<ConstantColumn<Nanoseconds>>& times,
             const std::optional<ConstantColumn<std::uint8_t>>& ops,
             const std::optional<Discards>& discards, const std::optional<Requests>& requests,
             py::object progress) {
  const ExclusiveUse use(estimator);
  const std::span<const Key> all = span_of(keys);
  References references{.keys = {}};
  if (times) references.times = column_for_keys<Nanoseconds>("times", *times, all.size());
  if (ops) references.ops = column_for_keys<std::uint8_t>("ops", *ops, all.size());
  if (discards) add_discards(references, *discards, all.size());
  if (requests) add_requests(references, *requests, all.size());
  const Tick tick = make_tick(std::move(progress));
  py::gil_scoped_release release;
  if constexpr (std::is_same_v<Key, std::uint64_t>) {
    references.keys = all;
    estimator.process(references, tick);
  } else {
    estimator.process(all, references, tick);
  }
}

template <class Key>
void bind_process(py::class_<StreamedEstimator>& estimator) {
  estimator.def("process", &process<Key>, py::arg("keys").noconvert(),
                py::arg("times") = py::none(), py::arg("ops") = py::none(), py::kw_only(),
                py::arg("discards") = py::none(), py::arg("requests") = py::none(),
                py::arg("progress") = py::none());
}

void bind_curve_estimate(py::module_& m) {
  using C = CurveEstimate;
  const auto bound =
      def_fields(py::class_<C>(m, "CurveEstimate",
                               "Hits of LRU over its capacity, a step function." MCSIM_CONSTANT),
                 std::tuple{MCSIM_FIELDS(C, accesses, requests, bytes, resolved_from, note)});
  def_views(bound, std::tuple{MCSIM_FIELDS(C, capacity, hits, request_hits, byte_hits, low, high)});
}

void bind_estimator(py::module_& m) {
  py::class_<StreamedEstimator> estimator(
      m, "Estimator", "Estimates LRU's hits from a stream of references." MCSIM_CALLS_WAIT);
  estimator.def(py::init<const std::string&, const ParamMap&, std::uint64_t, int>(),
                py::arg("name"), py::arg("params") = ParamMap{},
                py::arg("seed") = EstimatorContext{}.seed,
                py::arg("threads") = EstimatorContext{}.threads);
  bind_process<std::uint64_t>(estimator);
  bind_process<std::uint32_t>(estimator);
  const auto exclusive = [](auto function) {
    return [function](StreamedEstimator& of) {
      const ExclusiveUse use(of);
      return without_gil([&] { return std::invoke(function, of); });
    };
  };
  estimator.def("curve", exclusive(&StreamedEstimator::curve))
      .def_property_readonly("references", exclusive(&StreamedEstimator::references))
      // Like the curve, it may first have to count pending keys.
      .def_property_readonly("distinct", exclusive(&StreamedEstimator::distinct))
      .def_property_readonly("bytes", exclusive(&StreamedEstimator::bytes));
}

// Return the indices of the increasing capacities that lie on their upper concave hull.
py::array_t<std::int64_t> hull_of(const Column<Count>& capacities, const Column<double>& hits) {
  if (capacities.size() == 0 || capacities.size() != hits.size()) {
    raise_if_error(
        invalid_argument("upper_hull: {} capacities and {} hits", capacities.size(), hits.size()));
  }
  const std::span<const Count> sizes = span_of(capacities);
  const std::vector<std::size_t> kept = upper_hull(sizes, span_of(hits), 0, sizes.size() - 1);
  return to_array(std::vector<std::int64_t>(kept.begin(), kept.end()));
}

}  // namespace

void bind_estimators(py::module_& parent) {
  py::module_ m = parent.attr("locality");
  bind_curve_estimate(m);
  bind_estimator(m);
  m.def(
      "reuse_distances_with_discards",
      [](const Column<std::uint64_t>& ids, const Discards& discards) {
        References references{.keys = span_of(ids)};
        add_discards(references, discards, references.keys.size());
        return to_array(value_or_raise(without_gil([&] { return distances_of(references); })));
      },
      py::arg("ids").noconvert(), py::arg("discards"));
  m.def(
      "byte_distances",
      [](const ConstantColumn<std::uint32_t>& objects, const ConstantColumn<std::uint32_t>& bytes,
         std::size_t unique) {
        const auto ids = span_of(objects);
        const auto sizes = span_of(bytes);
        return to_array(
            value_or_raise(without_gil([&] { return byte_distances(ids, sizes, unique); })));
      },
      py::arg("objects").noconvert(), py::arg("bytes").noconvert(), py::arg("unique"));
  m.def(
      "byte_curve",
      [](const ConstantColumn<std::uint32_t>& objects, const ConstantColumn<std::uint32_t>& bytes,
         std::size_t unique, double rate, std::size_t warm_up, py::object progress) {
        const ByteCurveOptions options{
            .rate = rate, .warm_up = warm_up, .tick = make_tick(std::move(progress))};
        const auto ids = span_of(objects);
        const auto sizes = span_of(bytes);
        ByteCurve curve =
            value_or_raise(without_gil([&] { return byte_curve(ids, sizes, unique, options); }));
        return std::pair(std::move(curve.hits), curve.bytes);
      },
      py::arg("objects").noconvert(), py::arg("bytes").noconvert(), py::arg("unique"),
      py::kw_only(), py::arg("rate") = 1.0, py::arg("warm_up") = 0,
      py::arg("progress") = py::none());
  m.def("describe_estimators", [] { return describe_registry(estimator_registry()); });
  m.def("upper_hull", &hull_of, py::arg("capacities"), py::arg("hits"));
}

}  // namespace mcsim::python
