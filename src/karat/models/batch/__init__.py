"""Requests in files: written for whatever answers them, answered in batches within a day, and read in.

Open `request_files.py` first: a run writes its requests and takes the replies. `results` reads the lines of a file of
replies. `sender` has a file of requests answered in batches, through `provider`, which speaks OpenAI's Batch API;
`journal` notes beside the file of replies what is under way.
"""
