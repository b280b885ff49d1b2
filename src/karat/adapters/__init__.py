"""The shapes of other tools over karat's functions, one tool a file."""
