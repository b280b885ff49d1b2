"""The only code that leaves the process: language models and encoders, asked through one governor."""
