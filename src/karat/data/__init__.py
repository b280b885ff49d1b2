"""Files and frames ↔ Arrow: read, map, join, write."""
