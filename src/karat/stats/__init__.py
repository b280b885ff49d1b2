"""From row statistics to values with their intervals; knows no metric by name."""
