"""What a model replies to a judge: the forms that a reply can have, and how its text is read.

Open `forms.py` first: label, statements, fields and number. `items` is the form of a verdict on each item of a list,
as in `criteria`, `nuggets` and `citations`; `sentences` splits what statements are about. `reader` turns a reply into
a verdict: `parser` by the form alone, else `thoughts`, `json5` and `mend` where it has one reading.
"""
