"""What a metric is. Knows no metric by name."""
