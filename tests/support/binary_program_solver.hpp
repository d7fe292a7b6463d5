#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/engine/model/allocation.hpp"

namespace mcsim::testing {

// Solves a tiny binary program by trying 0 and 1 for column after column, giving
// up on a branch as soon as a row cannot be met any more.
class BinaryProgramSearch {
 public:
  explicit BinaryProgramSearch(const BinaryProgram& program)
      : program_(program), rows_(program.row_low.size()), x_(program.cost.size(), 0.0) {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (auto e = program.row_start[r]; e < program.row_start[r + 1]; ++e) {
        const double a = program.coefficient[static_cast<std::size_t>(e)];
        (a > 0 ? rows_[r].can_rise : rows_[r].can_fall) += a;
        entries_.resize(x_.size());
        entries_[static_cast<std::size_t>(program.column[static_cast<std::size_t>(e)])].push_back(
            {r, a});
      }
    }
    visit(0, 0.0);
  }

  absl::StatusOr<BinaryProgramSolution> solution() const {
    if (best_x_.empty()) return invalid_argument("infeasible");
    return BinaryProgramSolution{
        .x = best_x_, .objective = best_, .upper_bound = best_, .nodes = nodes_};
  }

 private:
  struct Row {
    double sum = 0;
    double can_rise = 0;  // by columns not tried yet
    double can_fall = 0;
  };
  struct Entry {
    std::size_t row;
    double coefficient;
  };

  bool hopeful(std::size_t r) const {
    constexpr double kSlack = 1e-9;
    return rows_[r].sum + rows_[r].can_rise >= program_.row_low[r] - kSlack &&
           rows_[r].sum + rows_[r].can_fall <= program_.row_high[r] + kSlack;
  }

  void visit(std::size_t column, double worth) {
    ++nodes_;
    if (column == x_.size()) {
      if (worth > best_) best_ = worth, best_x_ = x_;
      return;
    }
    for (const double value : {0.0, 1.0}) {
      const std::vector<Row> before = rows_;
      bool open = true;
      for (const Entry& e : entries_[column]) {
        Row& row = rows_[e.row];
        (e.coefficient > 0 ? row.can_rise : row.can_fall) -= e.coefficient;
        row.sum += value * e.coefficient;
        open = open && hopeful(e.row);
      }
      x_[column] = value;
      if (open) visit(column + 1, worth + value * program_.cost[column]);
      rows_ = before;
    }
    x_[column] = 0.0;
  }

  const BinaryProgram& program_;
  std::vector<Row> rows_;
  std::vector<std::vector<Entry>> entries_;  // by column
  std::vector<double> x_;
  std::vector<double> best_x_;
  double best_ = -std::numeric_limits<double>::infinity();
  Count nodes_ = 0;
};

inline absl::StatusOr<BinaryProgramSolution> search_binary_program(const BinaryProgram& program) {
  return BinaryProgramSearch(program).solution();
}

}  // namespace mcsim::testing
