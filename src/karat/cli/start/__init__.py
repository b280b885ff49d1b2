"""Commands for the first minutes with karat: an example to look at, and a start with files of one's own.

`demo.py` runs karat's commands on the rows in `example/`, which were made for it under karat's licence (Apache-2.0).
`init.py` prints what `survey` finds in a folder, and writes the files of `starting_point.py`. What commands share is in
`karat.cli.options`. Open `init.py` first.
"""
