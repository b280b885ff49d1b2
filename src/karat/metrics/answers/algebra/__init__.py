"""Whether two formulas are equal: by exact arithmetic where that settles it, else by sympy in a worker process."""
