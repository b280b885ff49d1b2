"""The version of karat, the only place that states it beside pyproject.toml."""

__version__ = "0.1.0"
