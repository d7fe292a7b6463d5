#include "bindings/src/python_policy.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "core/engine/caches/hooked_cache.hpp"
#include "core/engine/caches/priority_cache.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim::python {
namespace {

// Return a copy, because the policy may keep it.
template <class T>
py::array_t<T> array_of(std::span<const T> values) {
  return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

// A policy object, created at its first use, with calls that store exceptions. Common to functions
// and hooks.
class PythonObject {
 public:
  PythonObject(std::shared_ptr<const PythonPolicy> policy, const char* method,
               std::shared_ptr<PythonFailure> failure)
      : policy_(std::move(policy)),
        method_(policy_->name + "." + method),
        failure_(std::move(failure)) {}

  // The last owner may be a thread without the GIL.
  ~PythonObject() {
    const py::gil_scoped_acquire gil;
    object_ = py::object();
    policy_.reset();
  }
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;

  const std::string& method() const { return method_; }
  py::object attr(const char* name) const { return object_.attr(name); }

  // Runs `call` with the GIL; it may throw Python exceptions.
  template <class Call>
  absl::Status guarded(Call&& call) {
    const py::gil_scoped_acquire gil;
    MCSIM_RETURN_IF_ERROR(failure_->status());
    try {
      return call();
    } catch (...) {
      return failure_->keep(std::current_exception());
    }
  }

  void make(const PolicySetup& setup) { object_ = policy_->factory(setup.capacity, setup.seed); }

  // Return an attribute that must be a positive integer.
  absl::StatusOr<Count> positive(const char* name) const {
    const py::object given = attr(name);
    if (py::isinstance<py::int_>(given) && !py::isinstance<py::bool_>(given)) {
      int overflow = 0;
      const Count number = PyLong_AsLongLongAndOverflow(given.ptr(), &overflow);
      if (overflow == 0 && number >= 1) return number;
    }
    return invalid_argument("{}.{}: expected a whole number from 1 on, got {}", policy_->name, name,
                            std::string(py::repr(given)));
  }

 private:
  std::shared_ptr<const PythonPolicy> policy_;
  std::string method_;
  std::shared_ptr<PythonFailure> failure_;
  py::object object_;
};

class PythonHooks final : public PolicyHooks {
 public:
  PythonHooks(std::shared_ptr<const PythonPolicy> policy, std::shared_ptr<PythonFailure> failure)
      : python_(std::move(policy), "victims", std::move(failure)) {}

  const std::string& name() const override { return python_.method(); }

  absl::StatusOr<std::size_t> start(const PolicySetup& setup) override {
    Count ahead = 0;
    MCSIM_RETURN_IF_ERROR(python_.guarded([&]() -> absl::Status {
      python_.make(setup);
      MCSIM_ASSIGN_OR_RETURN(ahead, python_.positive("ahead"));
      return absl::OkStatus();
    }));
    return static_cast<std::size_t>(ahead);
  }

  absl::Status accessed(std::span<const std::int64_t> slots, std::span<const std::int64_t> blocks,
                        std::span<const std::uint8_t> hits) override {
    return python_.guarded([&] {
      const py::array flags = array_of(hits).attr("view")(py::dtype::of<bool>());
      python_.attr("accessed")(array_of(slots), array_of(blocks), flags);
      return absl::OkStatus();
    });
  }

  absl::Status choose(std::size_t count, std::vector<std::int64_t>& victims) override {
    return python_.guarded([&] {
      const py::object answer = python_.attr("victims")(count);
      if (py::isinstance<py::int_>(answer)) {
        int overflow = 0;
        const std::int64_t slot = PyLong_AsLongLongAndOverflow(answer.ptr(), &overflow);
        if (overflow == 0) {
          victims.push_back(slot);
          return absl::OkStatus();
        }
      }
      const auto array = py::array::ensure(answer);
      if (!array) throw py::error_already_set();
      const char kind = array.dtype().kind();
      if (array.ndim() > 1 || (array.size() > 0 && kind != 'i' && kind != 'u')) {
        return invalid_argument("{}: expected slots, whole numbers, got {}", name(),
                                std::string(py::repr(answer)));
      }
      const Converted<std::int64_t> slots(array);
      victims.insert(victims.end(), slots.data(), slots.data() + slots.size());
      return absl::OkStatus();
    });
  }

  absl::Status removed(std::span<const std::int64_t> slots) override {
    return python_.guarded([&] {
      python_.attr("removed")(array_of(slots));
      return absl::OkStatus();
    });
  }

  absl::Status resized(Count capacity) override {
    return python_.guarded([&] {
      python_.attr("resized")(capacity);
      return absl::OkStatus();
    });
  }

 private:
  PythonObject python_;
};

class PythonFunction final : public PriorityFunction {
 public:
  PythonFunction(std::shared_ptr<const PythonPolicy> policy, std::shared_ptr<PythonFailure> failure)
      : python_(std::move(policy), "priority", std::move(failure)) {}

  const std::string& name() const override { return python_.method(); }

  absl::StatusOr<Terms> start(const PolicySetup& setup) override {
    Terms terms;
    MCSIM_RETURN_IF_ERROR(python_.guarded([&]() -> absl::Status {
      python_.make(setup);
      terms.rising = python_.attr("rising").cast<bool>();
      if (python_.attr("refresh").is_none()) return absl::OkStatus();
      MCSIM_ASSIGN_OR_RETURN(terms.refresh, python_.positive("refresh"));
      return absl::OkStatus();
    }));
    return terms;
  }

  absl::Status evaluate(const Blocks& blocks, std::span<double> priorities) override {
    return python_.guarded([&] {
      const py::object answer =
          python_.attr("priority")(array_of(blocks.accesses), array_of(blocks.last),
                                   array_of(blocks.inserted), array_of(blocks.now));
      const auto array = py::array::ensure(answer);
      if (!array) throw py::error_already_set();
      if (std::string_view("biuf").find(array.dtype().kind()) == std::string_view::npos) {
        return invalid_argument("{}: expected numbers, got {}", name(),
                                std::string(py::repr(answer)));
      }
      const Converted<double> numbers(array);
      if (numbers.ndim() == 0) {
        std::ranges::fill(priorities, *numbers.data());
        return absl::OkStatus();
      }
      if (numbers.ndim() != 1 || static_cast<std::size_t>(numbers.size()) != priorities.size()) {
        return invalid_argument("{}: expected an array of shape ({},), got {}", name(),
                                priorities.size(), std::string(py::str(array.attr("shape"))));
      }
      std::copy_n(numbers.data(), priorities.size(), priorities.begin());
      return absl::OkStatus();
    });
  }

 private:
  PythonObject python_;
};

// Holds the GIL during a batch. If it were acquired and released at each call, two such caches on
// two threads would wait for each other at each call. Calls for one block acquire it themselves.
// Forwards every virtual function, so that a policy does not lose what its cache overrides.
class PythonCache final : public TierCache {
 public:
  explicit PythonCache(std::unique_ptr<TierCache> cache) : cache_(std::move(cache)) {}

  absl::Status replay(const AccessBatch<>& batch) override {
    const py::gil_scoped_acquire gil;
    const absl::Status status = cache_->replay(batch);
    counts_ = cache_->counts();
    return status;
  }
  void resize(Count capacity) override {
    cache_->resize(capacity);
    counts_ = cache_->counts();
  }
  bool touch(const Access<>& a) override { return cache_->touch(a); }
  void insert(const Access<>& a, std::vector<BlockId>& victims) override {
    cache_->insert(a, victims);
  }
  bool take(BlockId block) override { return cache_->take(block); }
  void resize(Count capacity, std::vector<BlockId>& victims) override {
    cache_->resize(capacity, victims);
  }
  bool discard(BlockId block) override { return cache_->discard(block); }
  Arrival* serve(std::span<const Arrival> arrivals, Arrival* next,
                 const ArrivalUses* uses) override {
    const py::gil_scoped_acquire gil;
    return cache_->serve(arrivals, next, uses);
  }
  void prefetch_slot(BlockId block) const override { cache_->prefetch_slot(block); }
  bool admits(const Access<>& a, std::vector<BlockId>& victims) override {
    return cache_->admits(a, victims);
  }
  bool selective() const override { return cache_->selective(); }
  absl::Status failure() const override { return cache_->failure(); }
  bool contains(BlockId block) const override { return cache_->contains(block); }
  Count size() const override { return cache_->size(); }
  Count capacity() const override { return cache_->capacity(); }
  std::size_t bytes() const override { return cache_->bytes(); }
  bool needs_next_use() const override { return cache_->needs_next_use(); }
  absl::Status check() const override { return cache_->check(); }

 private:
  std::unique_ptr<TierCache> cache_;
};

// The exceptions that statuses represent, by the number in their payload. Never destroyed, as
// Python may already have shut down.
struct PendingExceptions {
  std::mutex mutex;
  std::map<std::string, std::exception_ptr> by_number;
  std::uint64_t next = 0;
};
PendingExceptions& pending_exceptions() {
  static auto* const kept = new PendingExceptions;
  return *kept;
}
constexpr const char* kNumber = "mcsim/python-exception";

}  // namespace

absl::Status PythonFailure::keep(std::exception_ptr exception) {
  const std::lock_guard lock(mutex_);
  if (first_) return absl::CancelledError("Python raised an exception");
  first_ = exception;
  PendingExceptions& kept = pending_exceptions();
  const std::lock_guard lock_all(kept.mutex);
  number_ = std::to_string(kept.next++);
  kept.by_number[number_] = std::move(exception);
  absl::Status status = absl::CancelledError("Python raised an exception");
  status.SetPayload(kNumber, absl::Cord(number_));
  return status;
}

void rethrow_from_python(const absl::Status& status) {
  const auto number = status.GetPayload(kNumber);
  if (!number) return;
  PendingExceptions& kept = pending_exceptions();
  std::unique_lock lock(kept.mutex);
  auto found = kept.by_number.extract(std::string(*number));
  lock.unlock();
  if (!found.empty()) std::rethrow_exception(found.mapped());
}

absl::Status PythonFailure::status() const {
  const std::lock_guard lock(mutex_);
  return first_ ? absl::CancelledError("Python raised an exception") : absl::OkStatus();
}

void PythonFailure::rethrow_if_any() {
  if (!first_) return;
  PendingExceptions& kept = pending_exceptions();
  {
    const std::lock_guard lock(kept.mutex);
    kept.by_number.erase(number_);
  }
  std::rethrow_exception(first_);
}

Tick make_tick(py::object progress, std::shared_ptr<PythonFailure> failure) {
  auto shared = std::make_shared<py::object>(std::move(progress));
  return [shared, failure = std::move(failure)](Count done) -> absl::Status {
    const py::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!shared->is_none()) (*shared)(done);
    } catch (const py::error_already_set&) {
      return failure->keep(std::current_exception());
    }
    return absl::OkStatus();
  };
}

std::unique_ptr<TierCache> make_python_cache(std::shared_ptr<const PythonPolicy> policy,
                                             const PolicySetup& setup,
                                             std::shared_ptr<PythonFailure> failure) {
  std::unique_ptr<TierCache> cache;
  if (policy->is_function) {
    auto function = std::make_unique<PythonFunction>(std::move(policy), std::move(failure));
    cache = std::make_unique<PriorityCache>(std::move(function), setup);
  } else {
    auto hooks = std::make_unique<PythonHooks>(std::move(policy), std::move(failure));
    cache = std::make_unique<HookedCache>(std::move(hooks), setup);
  }
  return std::make_unique<PythonCache>(std::move(cache));
}

void register_python_policy(const std::string& name, std::shared_ptr<const PythonPolicy> policy) {
  // Both are never freed, like the names of all policies.
  const auto* const kept_name = new std::string(name);
  const auto* const kept_policy = new std::shared_ptr(std::move(policy));
  put_eviction_policy({.info = {.name = kept_name->c_str(),
                                .summary = "A policy written in Python.",
                                .reference = "a class of the experiment's"},
                       .params = {},
                       .make = [kept_policy](const ParamMap& given, const PolicySetup& setup)
                           -> absl::StatusOr<std::unique_ptr<TierCache>> {
                         MCSIM_RETURN_IF_ERROR(parse_params<NoParams>(given).status());
                         return make_python_cache(*kept_policy, setup,
                                                  std::make_shared<PythonFailure>());
                       }});
}

}  // namespace mcsim::python
