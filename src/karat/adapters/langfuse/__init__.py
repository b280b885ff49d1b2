"""The scores of a run's rows as scores of traces in Langfuse, by its public HTTP API.

`scores` sends them: rows that were read from Langfuse, or carry the ids of its traces, are annotated there. It needs no
package of Langfuse. Open `scores` first.
"""

from karat.adapters.langfuse.scores import send_scores

__all__ = ["send_scores"]
