// A table for people: columns are aligned, and no lines are drawn.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // Adds one cell for each column. An empty cell is shown as "-", so that a script can split a line into fields.
  void AddRow(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }

  // Returns the titles, then the rows, with two spaces between columns and no blanks at the end of a line. Escapes
  // control characters, so that, for example, a host name can't move the cursor.
  std::string Print() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns how many columns of a terminal the UTF-8 text takes. Counts each code point as one column.
size_t DisplayWidth(const std::string& text);

}  // namespace muster
