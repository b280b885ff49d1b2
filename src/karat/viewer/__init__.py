"""What people look at: the report in one file, and the page over run folders.

`style.css` is the design that both share; open it first. `report` writes one self-contained file, `page` serves run
folders on this machine, `rows` reads their aligned rows. What a figure is (values, intervals, differences) is in
`karat.stats` and `karat.runs`; nothing here computes one.
"""
