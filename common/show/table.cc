#include "common/show/table.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/text.h"

namespace muster {

size_t DisplayWidth(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  MUSTER_CHECK(cells.size() == columns_.size(), "a row has one cell for each column");
  for (std::string& cell : cells) cell = cell.empty() ? "-" : EscapeControl(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Print() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto append = [&](size_t i, const std::string& cell) {
    const std::string padding(widths[i] - DisplayWidth(cell), ' ');
    if (i > 0) out += "  ";
    out += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
  };
  const auto end_line = [&] {
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  for (size_t i = 0; i < columns_.size(); ++i) append(i, columns_[i].title);
  end_line();
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) append(i, row[i]);
    end_line();
  }
  return out;
}

}  // namespace muster
