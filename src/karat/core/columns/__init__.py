"""What a column may hold: the kinds that a metric's parameters are annotated with, and ids of documents.

`kinds` declares Text, Texts, Number, Ids and Graded, and casts any column to one of them; `ids` says when two ids are
equal; `arrow` hides Arrow's many list and text layouts; `column_cache` shares what is computed from a column among the
metrics of a batch. Normalising and tokenising text is in `karat.text`. Open `kinds` first.
"""
