"""A run's value as the result of a model on the Hugging Face Hub: a file for the folder `.eval_results` of its repo.

`results` writes the file; uploading it is `hf upload`'s work. It needs no package. Open `results` first.
"""

from karat.adapters.huggingface.results import write_results

__all__ = ["write_results"]
