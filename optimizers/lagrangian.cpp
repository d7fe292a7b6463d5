#include "optimizers/lagrangian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {
namespace {

using Vector = std::vector<double>;  // one number per tier

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The sizes that the VMs take at given prices, and the resulting bound.
struct Response {
  Choice choice;
  double bound = 0;
  Vector slack;  // capacity minus what is taken: a subgradient of the bound
  bool fits() const {
    return std::ranges::all_of(slack, [](double left) { return left >= 0; });
  }
};

class Market {
 public:
  explicit Market(const AllocationProblem& problem)
      : problem_(problem), limits_(closed_limits(problem)) {
    const Count step = common_step(problem.sizes);
    for (const Count capacity : problem.capacities) {
      capacity_.push_back(static_cast<double>(capacity / step * step));
    }
  }

  Response respond(const Vector& price) {
    Response response{.choice = {}, .bound = dot(price, capacity_), .slack = capacity_};
    for (std::size_t v = 0; v < problem_.vms(); ++v) {
      response.bound += take(v, price, response.choice.emplace_back(problem_.tiers()));
      double faster = 0;
      for (std::size_t k = 0; k < problem_.tiers(); ++k) {
        const double size = static_cast<double>(problem_.sizes[response.choice[v][k]]);
        response.slack[k] -= size - faster;
        faster = size;
      }
    }
    return response;
  }

  // An upper limit of prices, above which no VM takes space: a block of the fastest tier may raise
  // the cumulative sizes of all tiers.
  double highest_price() const {
    double highest = 0;
    for (std::size_t k = 0; k < problem_.tiers(); ++k) {
      double steepest = 0;
      for (const auto& tables : problem_.value) {
        for (std::size_t i = 1; i < problem_.sizes.size(); ++i) {
          const double blocks = static_cast<double>(problem_.sizes[i] - problem_.sizes[i - 1]);
          steepest = std::max(steepest, (tables[k][i] - tables[k][i - 1]) / blocks);
        }
      }
      highest += steepest;
    }
    return highest;
  }

  Count evaluations() const { return evaluations_; }

 private:
  // Return the sizes of one VM with the greatest value after price, the largest on a tie. A
  // cumulative size pays the price of its own tier and saves the price of the next one.
  double take(std::size_t v, const Vector& price, std::vector<std::size_t>& taken) {
    const std::size_t tiers = problem_.tiers();
    faster_.assign(tiers, std::vector<std::size_t>(problem_.sizes.size()));
    Vector worth(problem_.sizes.size(), 0.0);  // of the best sizes up to this tier
    for (std::size_t k = 0; k < tiers; ++k) {
      const double paid = price[k] - (k + 1 < tiers ? price[k + 1] : 0.0);
      const std::size_t low = limits_.low[v][k];
      const std::size_t high = limits_.high[v][k];
      std::size_t best = k == 0 ? 0 : limits_.low[v][k - 1];
      Vector next(problem_.sizes.size(), -std::numeric_limits<double>::infinity());
      for (std::size_t j = best; j <= high; ++j) {
        if (k > 0 && worth[j] >= worth[best]) best = j;
        if (j < low) continue;
        const double before = k == 0 ? 0.0 : worth[best];
        next[j] = before + problem_.value[v][k][j] - paid * static_cast<double>(problem_.sizes[j]);
        faster_[k][j] = best;
      }
      evaluations_ += static_cast<Count>(high - low + 1);
      worth = std::move(next);
    }
    std::size_t chosen = limits_.low[v][tiers - 1];
    for (std::size_t j = chosen; j <= limits_.high[v][tiers - 1]; ++j) {
      if (worth[j] >= worth[chosen]) chosen = j;
    }
    const double most = worth[chosen];
    for (std::size_t k = tiers; k-- > 0;) {
      taken[k] = chosen;
      chosen = faster_[k][chosen];
    }
    return most;
  }

  const AllocationProblem& problem_;
  Limits limits_;
  Vector capacity_;
  std::vector<std::vector<std::size_t>> faster_;  // [tier][size]: best size one tier up
  Count evaluations_ = 0;
};

// An ellipsoid that contains the optimal prices, as centre + axes * (unit ball); each cut through
// its centre gives a smaller one. Storing the axes instead of their square keeps it an ellipsoid
// under rounding.
class Ellipsoid {
 public:
  // Start from a ball around the cube [0, highest]^tiers.
  Ellipsoid(std::size_t tiers, double highest)
      : centre_(tiers, highest / 2), axes_(tiers, Vector(tiers, 0.0)) {
    for (std::size_t k = 0; k < tiers; ++k) {
      axes_[k][k] = std::sqrt(static_cast<double>(tiers)) * highest / 2;
    }
  }

  const Vector& centre() const { return centre_; }

  // Return an upper bound on the decrease, inside, of a function with this subgradient at the
  // centre.
  double reach(const Vector& normal) const {
    const Vector along = in_axes(normal);
    return std::sqrt(dot(along, along));
  }

  // Remove the half where normal * (x - centre) > 0.
  void cut(const Vector& normal) {
    const double n = static_cast<double>(centre_.size());
    const double shrink = n / (n + 1);
    const double stretch = n > 1 ? n / std::sqrt(n * n - 1) : 1;  // an interval has no sides
    Vector along = in_axes(normal);
    const double length = reach(normal);
    for (double& x : along) x /= length;
    for (std::size_t i = 0; i < centre_.size(); ++i) {
      const double step = dot(axes_[i], along);
      centre_[i] -= step / (n + 1);
      for (std::size_t j = 0; j < along.size(); ++j) {
        axes_[i][j] = stretch * axes_[i][j] + (shrink - stretch) * step * along[j];
      }
    }
  }

 private:
  Vector in_axes(const Vector& normal) const {
    Vector product(normal.size(), 0.0);
    for (std::size_t i = 0; i < normal.size(); ++i) {
      for (std::size_t j = 0; j < normal.size(); ++j) product[j] += axes_[i][j] * normal[i];
    }
    return product;
  }

  Vector centre_;
  std::vector<Vector> axes_;
};

// The best feasible choice so far, and the lowest bound.
struct Found {
  const AllocationProblem& problem;
  Choice choice;
  double objective = objective_of(problem, choice);
  double bound = std::numeric_limits<double>::infinity();

  void consider(const Response& response) {
    bound = std::min(bound, response.bound);
    if (!response.fits()) return;
    const double that = objective_of(problem, response.choice);
    if (that > objective) choice = response.choice, objective = that;
  }
};

// Evaluate prices at the centres of ever smaller ellipsoids.
void search(Market& market, Count iterations, Found& found) {
  const std::size_t tiers = found.problem.tiers();
  const Response unpriced = market.respond(Vector(tiers, 0.0));
  found.consider(unpriced);
  Ellipsoid prices(tiers, market.highest_price());
  const double tie = tie_of(found.problem);
  for (Count i = 0; i < iterations && !unpriced.fits(); ++i) {
    const auto negative = std::ranges::find_if(prices.centre(), [](double x) { return x < 0; });
    Vector normal(tiers, 0.0);
    if (negative != prices.centre().end()) {
      normal[static_cast<std::size_t>(negative - prices.centre().begin())] = -1;
    } else {
      const Response response = market.respond(prices.centre());
      found.consider(response);
      normal = response.slack;
      if (prices.reach(normal) <= tie) break;
    }
    if (!(prices.reach(normal) > 0)) break;
    prices.cut(normal);
  }
}

}  // namespace

absl::StatusOr<Solution> Lagrangian::solve(const AllocationProblem& problem) {
  const Stopwatch watch;
  MCSIM_RETURN_IF_ERROR(problem.validate());
  MCSIM_ASSIGN_OR_RETURN(const PartialAllocation reserved,
                         PartialAllocation::at_reservations(problem));
  Market market(problem);
  Found found{.problem = problem, .choice = reserved.choice()};
  search(market, params_.iterations, found);

  PartialAllocation priced(problem, std::move(found.choice));
  PartialAllocation unaided = reserved;
  const Count evaluations = market.evaluations() + grow(priced) + grow(unaided);
  const bool prices_helped =
      objective_of(problem, priced.choice()) >= objective_of(problem, unaided.choice());
  PartialAllocation& better = prices_helped ? priced : unaided;
  better.fill();
  return make_solution(problem, better.choice(), found.bound, evaluations, watch);
}

}  // namespace mcsim
