"""Requests in batches: files of requests that an endpoint answers within a day, at half the price.

Open `governor.py` first: `BatchGovernor` sends the requests of judges in batches. `queue` gathers them and waits for
the results, which `results` reads; `uploader` uploads them, and `journal` keeps on disk what was uploaded; `provider`
speaks OpenAI's Batch API.
"""
